import { execFileSync } from "node:child_process";
import { chmod, lstat, mkdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { scale } from "../../test/support/scale.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { TurnableClock } from "../../test/support/turnable-clock.ts";
import { exists } from "../lib/files/unless-missing.ts";
import { createCheckpoints } from "./checkpoint-store.ts";
import { checkpointOptions } from "./options.ts";

const signal = new AbortController().signal;

async function openLab(settings: Record<string, unknown> = {}) {
  const folder = await tempFolder();
  const project = folder.file("project");
  await mkdir(project);
  const clock = new TurnableClock();
  const location = {
    folder: folder.file("home/checkpoints"),
    variables: { PATH: process.env["PATH"], HOME: folder.path },
  };
  const checkpoints = createCheckpoints(location, { options: checkpointOptions.parse(settings), clock });
  const write = async (name: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(project, name)), { recursive: true });
    await writeFile(join(project, name), content);
  };
  return {
    project,
    clock,
    checkpoints,
    location,
    write,
    read: (name: string) => readFile(join(project, name), "utf8"),
    git: (...args: string[]) => {
      const identity = [
        "-c",
        "user.name=me",
        "-c",
        "user.email=me@localhost",
        "-c",
        "protocol.file.allow=always",
      ];
      return execFileSync("git", [...identity, ...args], { cwd: project, encoding: "utf8", stdio: "pipe" });
    },
    /** A turn that makes a change. */
    async turn(change: () => Promise<void>): Promise<void> {
      const { number } = await checkpoints.take(
        { folder: project, reason: "terminal", sessionId: "s" },
        signal,
      );
      await change();
      await checkpoints.complete(project, number, signal);
    },
    rollBack: (steps = 1, path?: string) =>
      checkpoints.rollBack(
        { folder: project, steps, path: path === undefined ? undefined : join(project, path) },
        { isDryRun: false },
        signal,
      ),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test("agent K5: a restored file is not readable by more users than before", async () => {
  await using lab = await openLab();
  const file = (name: string) => join(lab.project, name);
  const modes = {
    secret: 0o600,
    shared: 0o640,
    "bin/tool": 0o750,
    replaced: 0o600,
    public: 0o644,
    edited: 0o600,
  };
  for (const [name, mode] of Object.entries(modes)) {
    await lab.write(name, "one\n");
    await chmod(file(name), mode);
  }
  await lab.turn(async () => {
    for (const name of Object.keys(modes).filter((name) => name !== "edited")) await rm(file(name));
    await lab.write("replaced", "two\n");
    await chmod(file("replaced"), 0o644);
    await lab.write("edited", "two\n");
  });
  await lab.rollBack();
  for (const [name, mode] of Object.entries(modes))
    expect([name, (await lstat(file(name))).mode & 0o777]).toEqual([name, mode]);
});

test("agent K5: a rollback restores the bytes of changed, removed and new files, links and programs", async () => {
  await using lab = await openLab();
  const bytes = new Uint8Array([0, 255, 13, 10, 13, 10, 26, 0]);
  await lab.write("binary", bytes);
  await lab.write("crlf.txt", "one\r\ntwo\r\n");
  await lab.write(".gitattributes", "* text=auto eol=lf\n*.txt filter=lfs\n");
  await lab.write("run.sh", "#!/bin/sh\n");
  await chmod(join(lab.project, "run.sh"), 0o755);
  await symlink("binary", join(lab.project, "link"));
  await lab.turn(async () => {
    await lab.write("binary", "text");
    await lab.write("crlf.txt", "three\n");
    await rm(join(lab.project, "run.sh"));
    await rm(join(lab.project, "link"));
    await lab.write("new/deep/file", "x");
  });
  const { restored } = await lab.rollBack();
  expect(restored.toSorted()).toEqual(["binary", "crlf.txt", "link", "new/deep/file", "run.sh"]);
  expect(new Uint8Array(await readFile(join(lab.project, "binary")))).toEqual(bytes);
  expect(await lab.read("crlf.txt")).toBe("one\r\ntwo\r\n");
  expect((await lstat(join(lab.project, "run.sh"))).mode & 0o777).toBe(0o755);
  expect(await readlink(join(lab.project, "link"))).toBe("binary");
  expect(await exists(join(lab.project, "new"))).toBe(false);
});

test("agent K5: a rollback after ten edits keeps the user's own edits, and can itself be undone", async () => {
  await using lab = await openLab();
  const lines = (change: Record<number, string>): string =>
    Array.from({ length: 40 }, (_, index) => change[index] ?? `line ${index}`).join("\n");
  await lab.write("a.txt", lines({}));
  for (let turn = 1; turn <= 10; turn++) {
    await lab.turn(() =>
      lab.write("a.txt", lines({ 5: `agent ${turn}`, ...(turn > 5 ? { 30: "user" } : {}) })),
    );
    if (turn === 5) await lab.write("a.txt", lines({ 5: "agent 5", 30: "user" }));
  }
  await lab.write("own.txt", "mine");
  expect((await lab.rollBack(10)).merged).toEqual(["a.txt"]);
  expect(await lab.read("a.txt")).toBe(lines({ 30: "user" }));
  expect(await lab.read("own.txt")).toBe("mine");
  await lab.rollBack();
  expect(await lab.read("a.txt")).toBe(lines({ 5: "agent 10", 30: "user" }));
});

test("agent K5: a file in which the user has changed the same lines is left alone and reported", async () => {
  await using lab = await openLab();
  await lab.write("a.txt", "old\n");
  await lab.turn(() => lab.write("a.txt", "agent\n"));
  await lab.write("a.txt", "user\n");
  expect(await lab.rollBack()).toMatchObject({ restored: [], merged: [], kept: ["a.txt"] });
  expect(await lab.read("a.txt")).toBe("user\n");
});

test("agent K5: a rollback can be limited to one file", async () => {
  await using lab = await openLab();
  await lab.write("one", "1");
  await lab.write("two", "1");
  await lab.turn(async () => {
    await lab.write("one", "2");
    await lab.write("two", "2");
  });
  await lab.rollBack(1, "one");
  expect([await lab.read("one"), await lab.read("two")]).toEqual(["1", "2"]);
});

test("agent K5: a repository with a submodule is restored with it, and neither repository is touched", async () => {
  await using lab = await openLab();
  await using other = await openLab();
  other.git("init", "-q");
  await other.write("inner.txt", "inner");
  other.git("add", "-A");
  other.git("commit", "-qm", "one");
  lab.git("init", "-q");
  lab.git("submodule", "add", "-q", other.project, "vendor/sub");
  lab.git("commit", "-qm", "one");
  const state = (): string =>
    lab.git("status", "--porcelain") + lab.git("rev-parse", "HEAD") + lab.git("stash", "list");
  const before = state();
  await lab.turn(() => lab.write("vendor/sub/inner.txt", "changed"));
  expect(await lab.rollBack()).toMatchObject({ restored: ["vendor/sub/inner.txt"] });
  expect(await lab.read("vendor/sub/inner.txt")).toBe("inner");
  expect(state()).toBe(before);
  expect((await lstat(join(lab.project, "vendor/sub/.git"))).isFile()).toBe(true);
});

test("agent K5: a file behind a link that leads out of the project is not written", async () => {
  await using lab = await openLab();
  await using outside = await tempFolder();
  await lab.write("inside/file", "old");
  await lab.turn(() => lab.write("inside/file", "new"));
  await rm(join(lab.project, "inside"), { recursive: true });
  await writeFile(outside.file("file"), "new");
  await symlink(outside.path, join(lab.project, "inside"));
  expect(await lab.rollBack()).toMatchObject({ restored: [], kept: ["inside/file"] });
  expect(await readFile(outside.file("file"), "utf8")).toBe("new");
});

test("agent K5: the number, age and size of checkpoints are limited", async () => {
  await using lab = await openLab({ max_snapshots: 3, max_file_mb: 1, max_files: 5 });
  await lab.write("large", new Uint8Array(2 * 1024 * 1024));
  const request = { folder: lab.project, reason: "r", sessionId: undefined };
  expect(await lab.checkpoints.take(request, signal)).toMatchObject({ omitted: ["large"] });
  for (let turn = 0; turn < 5; turn++) await lab.turn(() => lab.write("a", `${turn}`));
  const numbers = async (): Promise<number[]> =>
    (await lab.checkpoints.list(lab.project, signal)).map(({ number }) => number);
  expect(await numbers()).toEqual([6, 5, 4]);
  await lab.clock.advance(8 * 24 * 60 * 60_000);
  await lab.checkpoints.take(request, signal);
  expect(await numbers()).toEqual([7]);
  for (let file = 0; file < 6; file++) await lab.write(`f${file}`, "");
  await expect(lab.checkpoints.take(request, signal)).rejects.toThrow("has more than 5 files");
});

test("agent K5: a repository with many files is restored; one with more than the limit is refused before its files are read", async () => {
  await using lab = await openLab({ max_files: scale.checkpointFiles + 1 });
  lab.git("init", "-q");
  for (let file = 0; file < scale.checkpointFiles; file++) {
    if (file % 500 === 0) await mkdir(join(lab.project, `d${file / 500}`));
    await writeFile(join(lab.project, `d${Math.floor(file / 500)}`, `f${file}`), `${file}`);
  }
  await lab.turn(async () => {
    await rm(join(lab.project, "d0"), { recursive: true });
    await lab.write("d1/f500", "changed");
  });
  expect((await lab.rollBack()).restored).toHaveLength(501);
  expect([await lab.read("d0/f499"), await lab.read("d1/f500")]).toEqual(["499", "500"]);
  await lab.write("more/a", "");
  await lab.write("more/b", "");
  const request = { folder: lab.project, reason: "r", sessionId: undefined };
  await expect(lab.checkpoints.take(request, signal)).rejects.toThrow("so its files were not saved");
});

test("agent K5: without git, the checkpoint is refused with a reason that names it", async () => {
  await using lab = await openLab();
  await using bin = await tempFolder();
  const checkpoints = createCheckpoints(
    { ...lab.location, variables: { PATH: bin.path } },
    { options: checkpointOptions.parse({}), clock: lab.clock },
  );
  const request = { folder: lab.project, reason: "r", sessionId: undefined };
  await expect(checkpoints.take(request, signal)).rejects.toThrow(/git/);
});

test("agent K5: a program named git in the project, or in a relative folder of the PATH, is not run", async () => {
  await using lab = await openLab();
  lab.git("init", "-q");
  await lab.write("sub/a", "one");
  await lab.write("bin/git", `#!/bin/sh\ntouch ${lab.project}/planted\n`);
  await chmod(join(lab.project, "bin", "git"), 0o755);
  const path = ["bin", "../bin", "", join(lab.project, "bin"), process.env["PATH"]].join(":");
  const checkpoints = createCheckpoints(
    { ...lab.location, variables: { PATH: path, HOME: lab.project } },
    { options: checkpointOptions.parse({}), clock: lab.clock },
  );
  for (const folder of [lab.project, join(lab.project, "sub")]) {
    const taken = await checkpoints.take({ folder, reason: "r", sessionId: undefined }, signal);
    expect(taken.omitted).toEqual([]);
  }
  expect(await exists(join(lab.project, "planted"))).toBe(false);
  expect(await checkpoints.list(lab.project, signal)).toHaveLength(2);
});

test("agent K5: the home folder and the root folder are not projects", async () => {
  await using lab = await openLab();
  const request = { folder: "/", reason: "r", sessionId: undefined };
  await expect(lab.checkpoints.take(request, signal)).rejects.toThrow("/ is not a project");
});

test("a rollback without a checkpoint is refused with the reason", async () => {
  await using lab = await openLab();
  await expect(lab.rollBack()).rejects.toThrow("There is no checkpoint");
});
