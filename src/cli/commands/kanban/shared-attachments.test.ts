import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { codeOf, openPostgresLab, openStage } from "../../../../test/support/board-lab.ts";
import { openKanbanCli } from "../../../../test/support/kanban-line.ts";
import { openOwnDatabase } from "../../../../test/support/own-database.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { locateAttachments } from "../../../board/attachments/attachment-content.ts";
import { type AttachmentFolders, attachFile } from "../../../board/attachments/attachment-files.ts";
import { LARGEST_ATTACHMENT, type Task } from "../../../board/task.ts";
import { boardFolders } from "../../../board/workspaces/board-folders.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";

const run = promisify(execFile);
const MIB = 1024 * 1024;
const SOME = randomBytes(2.5 * MIB); // more than one part

describeWith("postgres", "attachments of a board that several hosts share", ({ url }) => {
  async function openLab({ limitBytes = 100 * MIB } = {}) {
    const stage = await openStage(() => openPostgresLab(url));
    const folder = await tempFolder();
    const { store, operator: client, lab } = stage;
    const foldersOf = (host: string): AttachmentFolders => ({
      ...boardFolders(folder.file(host), "lab"),
      now: Date.now,
      sharedLimitBytes: limitBytes,
    });
    return {
      ...stage,
      folder,
      foldersOf,
      attach: (taskId: string, name: string, bytes: Uint8Array, signal = neverAborted) =>
        attachFile({ client, folders: foldersOf("one") }, taskId, { name, bytes }, signal),
      /** The files as another host finds them. */
      async locate(taskId: string, location = foldersOf("two")) {
        const { attachments } = await store.show(taskId, neverAborted);
        return [
          ...(await locateAttachments({ store, folders: location }, attachments, neverAborted)).values(),
        ];
      },
      parts: async () =>
        Number((await lab.raw<{ count: string }>("select count(*) from attachment_part"))[0]?.count),
      async [Symbol.asyncDispose]() {
        await folder[Symbol.asyncDispose]();
        await stage[Symbol.asyncDispose]();
      },
    };
  }

  test("a file attached on one host is readable on another, and removing or purging it leaves nothing behind", async () => {
    await using database = await openOwnDatabase(url);
    await using here = await openKanbanCli();
    await using there = await openKanbanCli();
    const env = { HERMES_KANBAN_DATABASE_URL: database.url };
    const file = join(here.folder, "photo.bin");
    await writeFile(file, SOME);
    const { id } = await here.json<Task>(["create", "look at it"], { env });
    for (const name of ["photo.bin", "again.bin"])
      await here.ok(["attach", id, file, "--name", name], { env });
    expect(await there.ok(["attachments", id], { env })).toContain("in the database");
    const context = await there.ok(["context", id], { env });
    const path = /photo\.bin \(.*\): (.*)$/m.exec(context)?.[1] ?? "";
    expect(path).toBe(join(there.home, "kanban", "attachments", id, "1", "photo.bin"));
    expect(SOME.equals(await readFile(path))).toBe(true);
    await there.ok(["attach-rm", id, "1"], { env });
    expect(await here.ok(["context", id], { env })).not.toContain("photo.bin");
    expect(await readdir(join(there.home, "kanban", "attachments", id))).toEqual(["2"]);
    const intact = { ok: true, found: [], repaired: 0, left: [] };
    expect(await here.json(["repair"], { env })).toEqual(intact);

    // A whole board with its files is exported, and imported into another database and into a local file.
    const copy = join(here.folder, "board.jsonl");
    await here.ok(["export", "-o", copy], { env });
    await there.ok(["import", copy, "--as", "copy"], { env });
    await there.ok(["import", copy, "--as", "local"]);
    for (const [cli, words, options] of [
      [here, ["--board", "copy"], { env }],
      [there, ["--board", "local"], {}],
    ] as const) {
      const copied = /again\.bin \(.*\): (.*)$/m.exec(await cli.ok([...words, "context", id], options))?.[1];
      expect(SOME.equals(await readFile(copied ?? ""))).toBe(true);
    }
    await here.ok(["archive", id], { env });
    await here.ok(["purge", id], { env });
    expect(await here.json(["repair"], { env })).toEqual(intact);
  });

  test("an upload that loses its connection leaves nothing behind and can be repeated", async () => {
    await using lab = await openLab();
    const task = await lab.add("a");
    const large = Buffer.alloc(LARGEST_ATTACHMENT);
    const uploading = codeOf(lab.attach(task.id, "large", large));
    const cut = `select count(pg_terminate_backend(pid)) as cut from pg_stat_activity
                  where query like 'insert into attachment_part%' and application_name = current_schema()`;
    for (let killed = 0; killed === 0; ) killed = Number((await lab.lab.raw<{ cut: string }>(cut))[0]?.cut);
    expect(await uploading).toBe("database-unavailable");
    expect(await lab.parts()).toBe(0);
    expect(await lab.locate(task.id)).toEqual([]);
    await lab.attach(task.id, "large", large);
    expect(await lab.store.check(neverAborted)).toEqual([]);
  });

  test("a host's local copy is replaced if its content was changed, even if the size is the same", async () => {
    await using lab = await openLab();
    const task = await lab.add("a");
    await lab.attach(task.id, "a", SOME);
    const [found] = await lab.locate(task.id);
    const path = found !== undefined && "path" in found ? found.path : "";
    await writeFile(path, Buffer.alloc(SOME.length));
    expect(await lab.locate(task.id)).toEqual([{ path }]);
    expect(SOME.equals(await readFile(path))).toBe(true);
  });

  test("kanban.shared_attachments_mb limits what the database stores, and the error names it", async () => {
    await using database = await openOwnDatabase(url);
    await using cli = await openKanbanCli();
    const file = join(cli.folder, "large.bin");
    await writeFile(file, Buffer.alloc(1.5 * MIB));
    const env = { HERMES_KANBAN_DATABASE_URL: database.url, HERMES_KANBAN_SHARED_ATTACHMENTS_MB: "2" };
    await cli.ok(["create", "look at it"], { env });
    await cli.ok(["attach", "1", file], { env });
    expect((await cli.run(["attach", "1", file], { env })).failure).toMatchObject({
      hint: expect.stringContaining("kanban.shared_attachments_mb"),
    });
    const { attachments } = await cli.json<{ attachments: readonly object[] }>(["show", "1"], { env });
    expect(attachments).toHaveLength(1);
  });

  test("two concurrent uploads get different names and cannot exceed the limit together", async () => {
    await using lab = await openLab({ limitBytes: 6 * MIB });
    const [one, two] = [await lab.add("a"), await lab.add("b")];
    const kept = await Promise.all([lab.attach(one.id, "a", SOME), lab.attach(one.id, "a", SOME)]);
    expect(kept.map(({ filename }) => filename).sort()).toEqual(["a", "a (1)"]);
    const more = await Promise.all(
      [one, two].map(({ id }) => codeOf(lab.attach(id, "b", Buffer.alloc(MIB)))),
    );
    expect(more.sort()).toEqual(["attachment-too-large", undefined]);
    expect(await lab.parts()).toBe(7);
    await lab.operator.removeAttachment(kept[0].id, neverAborted);
    expect(await lab.parts()).toBe(4);
    await lab.operator.archive(two.id, neverAborted);
    await lab.operator.purge(two.id, neverAborted);
    await lab.operator.archive(one.id, neverAborted);
    await lab.operator.purge(one.id, neverAborted);
    expect(await lab.parts()).toBe(0);
  });

  test("a copy that does not fit on the disk is reported with its reason, and a truncated copy is replaced", async ({
    skip,
  }) => {
    await using lab = await openLab();
    const task = await lab.add("a");
    await lab.attach(task.id, "a", SOME);
    const disk = lab.folder.file("two");
    await mkdir(disk);
    const isMounted = await run("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]).catch(
      () => undefined,
    );
    if (isMounted === undefined) skip("may not mount a small disk");
    const folder = join(lab.foldersOf("two").attachments, task.id, "1");
    try {
      expect(await lab.locate(task.id)).toEqual([{ problem: expect.stringContaining("the disk is full") }]);
      expect(await readdir(folder)).toEqual([]);
      await writeFile(join(folder, "a"), "cut short");
      await run("mount", ["-o", "remount,size=16m", disk]);
      expect(await lab.locate(task.id)).toEqual([{ path: join(folder, "a") }]);
      expect(SOME.equals(await readFile(join(folder, "a")))).toBe(true);
    } finally {
      await run("umount", [disk]);
    }
  });
});
