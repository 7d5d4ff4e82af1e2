import { mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type KanbanCli, openKanbanCli } from "../../../../../test/support/kanban-line.ts";
import type { Task } from "../../../../board/task.ts";

test("export, import and repair name attachments that were changed, truncated or lost on disk, and import the rest", async () => {
  await using cli = await openKanbanCli();
  const { id } = await cli.json<Task>(["create", "with files"]);
  const file = join(cli.folder, "content");
  await writeFile(file, "as it was");
  const names = ["whole.txt", "changed.txt", "cut.txt", "grown.txt", "lost.txt"];
  for (const name of names) await cli.ok(["attach", id, file, "--name", name]);
  expect(await cli.json(["repair"])).toMatchObject({ ok: true });
  const folder = join(cli.home, "kanban", "attachments", id);
  await writeFile(join(folder, "changed.txt"), "as it is.");
  await truncate(join(folder, "cut.txt"), 2);
  await writeFile(join(folder, "grown.txt"), "as it was not");
  await rm(join(folder, "lost.txt"));

  const damages = [
    /changed\.txt .* was changed/,
    /cut\.txt .* 2 of its 9 bytes/,
    /grown\.txt .* more than its 9/,
    /lost\.txt .* is missing/,
  ];
  const repaired = await cli.run(["repair", "--json"]);
  expect(repaired.exitCode).toBe(1);
  expect(JSON.parse(repaired.stdout)).toMatchObject({
    ok: false,
    left: damages.map((text) => expect.stringMatching(text)),
  });
  const copy = join(cli.folder, "board.jsonl");
  const exported = await cli.run(["export", "-o", copy]);
  expect(exported.failure).toBeUndefined();
  for (const text of damages) expect(exported.stderr).toMatch(text);
  expect(exported.stderr).not.toContain("whole.txt");

  const imported = await cli.run(["import", copy, "--as", "copy"]);
  expect(imported.failure).toBeUndefined();
  for (const text of damages) expect(imported.stderr).toMatch(text);
  const there = join(cli.home, "kanban", "boards", "copy", "attachments", id);
  expect(await readdir(there)).toEqual(["whole.txt"]);
  expect(await readFile(join(there, "whole.txt"), "utf8")).toBe("as it was");
  expect(await cli.json<object[]>(["--board", "copy", "attachments", id])).toHaveLength(5);
  const context = await cli.ok(["context", id]);
  expect(context).toMatch(/changed\.txt.*was changed/);
});

test("an export from a version without hashes is imported with its files", async () => {
  await using cli = await openKanbanCli();
  const { file, text } = await exportOneFile(cli);
  expect(text).toContain('"sha256":');
  await writeFile(file, text.replace(/"sha256":"\w+",/, ""));
  await cli.ok(["import", file, "--as", "copy"]);
  expect(await cli.json(["--board", "copy", "repair"])).toMatchObject({ ok: true });
});

test("a file that was changed inside an export is refused", async () => {
  await using cli = await openKanbanCli();
  const { text } = await exportOneFile(cli);
  const other = text.replace(
    Buffer.from("as it was").toString("base64"),
    Buffer.from("as it is.").toString("base64"),
  );
  const copy = join(cli.folder, "board.jsonl");
  await writeFile(copy, other);
  const { failure } = await cli.run(["import", copy, "--as", "copy"]);
  expect(failure).toMatchObject({
    code: "board-import-invalid",
    message: expect.stringContaining("was changed"),
  });
});

test("an import into a default board in use is refused for that reason, and changes no file", async () => {
  await using cli = await openKanbanCli();
  const copy = join(cli.folder, "board.jsonl");
  await writeFile(copy, (await exportOneFile(cli)).text);
  const folder = join(cli.home, "kanban", "attachments");
  const before = await readdir(folder, { recursive: true });
  const { failure } = await cli.run(["import", copy, "--as", "default"]);
  expect(failure).toMatchObject({
    code: "board-not-empty",
    message: "The board already has tasks or events.",
  });
  expect(await readdir(folder, { recursive: true })).toEqual(before);
});

test("a file that a killed import into the default board left behind is replaced by the next import", async () => {
  await using full = await openKanbanCli();
  const { text } = await exportOneFile(full);
  const [task] = await full.json<Task[]>(["list"]);
  await using cli = await openKanbanCli();
  const copy = join(cli.folder, "board.jsonl");
  await writeFile(copy, text);
  const folder = join(cli.home, "kanban", "attachments", task?.id ?? "");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, "content"), "as it");
  await cli.ok(["import", copy, "--as", "default"]);
  expect(await readFile(join(folder, "content"), "utf8")).toBe("as it was");
  expect(await cli.json(["repair"])).toMatchObject({ ok: true });
});

test("an export that was cut off after any line is refused and creates no board", async () => {
  await using cli = await openKanbanCli();
  const lines = await exportFullBoard(cli);
  const cut = join(cli.folder, "cut.jsonl");
  for (let count = 1; count < lines.length; count++) {
    await writeFile(cut, `${lines.slice(0, count).join("\n")}\n`);
    const { failure } = await cli.run(["import", cut, "--as", "cut"]);
    expect(failure, `after ${count} of ${lines.length} lines`).toMatchObject({
      code: "board-import-invalid",
    });
  }
  expect((await cli.json<{ slug: string }[]>(["boards", "list"])).map(({ slug }) => slug)).toEqual([
    "default",
  ]);
  await writeFile(cut, lines.join("\n"));
  expect(await cli.json(["import", cut, "--as", "cut"])).toMatchObject({ rows: rowsIn(lines) });
});

test("an export that lacks a row in the middle is refused, and the error names both counts", async () => {
  await using cli = await openKanbanCli();
  const lines = await exportFullBoard(cli);
  const cut = join(cli.folder, "cut.jsonl");
  await writeFile(cut, lines.filter((text) => !text.includes('"table":"comment"')).join("\n"));
  const { failure } = await cli.run(["import", cut, "--as", "cut"]);
  const rows = rowsIn(lines);
  expect(failure?.message).toContain(`contains ${rows - 1} of its ${rows} rows`);
});

test("an export of an earlier version, which has no last line, is imported only when its board is consistent", async () => {
  await using cli = await openKanbanCli();
  const [header = "", ...rest] = await exportFullBoard(cli);
  const old = [header.replace('"hermes_board":2', '"hermes_board":1'), ...rest.slice(0, -1)];
  const file = join(cli.folder, "old.jsonl");
  await writeFile(file, old.join("\n"));
  await cli.ok(["import", file, "--as", "old"]);
  expect(await cli.json(["--board", "old", "repair"])).toMatchObject({ ok: true });
  const lastEvent = old.findLastIndex((text) => text.includes('"table":"event"'));
  for (let count = 1; count <= lastEvent; count++) {
    await writeFile(file, old.slice(0, count).join("\n"));
    const { failure } = await cli.run(["import", file, "--as", "cut"]);
    expect(failure, `after ${count} lines`).toMatchObject({
      code: "board-import-invalid",
      message: expect.stringContaining("incomplete"),
    });
  }
});

/** A board with two linked tasks, a run, a comment and an attachment; the lines of its export. */
async function exportFullBoard(cli: KanbanCli): Promise<readonly string[]> {
  const first = await cli.json<Task>(["create", "first"]);
  await cli.ok(["create", "second", "--parent", first.id]);
  await cli.ok(["comment", first.id, "a remark"]);
  await cli.ok(["claim", first.id]);
  await cli.ok(["complete", first.id, "--summary", "done"]);
  return (await exportOneFile(cli)).text.trimEnd().split("\n");
}

const rowsIn = (lines: readonly string[]): number =>
  lines.filter((text) => text.startsWith('{"table":')).length;

/** A board with one attachment, and its export. */
async function exportOneFile(cli: KanbanCli): Promise<{ readonly file: string; readonly text: string }> {
  const { id } = await cli.json<Task>(["create", "with a file"]);
  const file = join(cli.folder, "content");
  await writeFile(file, "as it was");
  await cli.ok(["attach", id, file]);
  return { file, text: await cli.ok(["export"]) };
}

test("an export waits for a slow reader, and then continues", async () => {
  await using cli = await openKanbanCli();
  const tasks = Array.from({ length: 3_000 }, (_, index) => ({
    title: `Task ${index}`,
    body: "x".repeat(200),
  }));
  await writeFile(join(cli.folder, "plan.yaml"), JSON.stringify({ tasks }));
  await cli.ok(["plan", join(cli.folder, "plan.yaml")]);
  let printed = 0;
  let isSlow = (): void => undefined;
  const slow = new Promise<void>((resolve) => {
    isSlow = resolve;
  });
  let read = (): void => undefined;
  const isRead = new Promise<void>((resolve) => {
    read = resolve;
  });
  const exporting = cli.ok(["export"], {
    onPrint(text) {
      printed += text.length;
    },
    drained() {
      isSlow();
      return isRead;
    },
  });
  await Promise.race([slow, exporting]);
  await new Promise((resolve) => setTimeout(resolve, 200)); // without waiting, the export would have printed much more by now
  const early = printed;
  read();
  const text = await exporting;
  expect(text.trimEnd().split("\n").length).toBeGreaterThan(3_000);
  expect(early).toBeLessThan(text.length / 2);
});
