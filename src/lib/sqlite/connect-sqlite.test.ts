import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { expect, type TestContext, test } from "vitest";
import { startChild } from "../../../test/support/child.ts";
import { COUNTER } from "../../../test/support/storage-fixtures.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { systemClock } from "../time/clock.ts";
import { neverAborted } from "../time/never-aborted.ts";
import { type Database, openDatabase } from "./database.ts";

const CHILD = new URL("../../../test/support/storage-child.ts", import.meta.url);
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

function open(path: string): Promise<Database> {
  return openDatabase(path, { migrations: COUNTER, synchronous: "FULL", clock: systemClock }, neverAborted);
}

/** The command prefix that runs a program without root, so that permissions apply to it. */
function withoutRoot({ skip }: TestContext): string[] {
  if (!isRoot) return [];
  const wrap = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  const [program = "", ...args] = [
    ...wrap,
    process.execPath,
    "-e",
    "require('node:fs').readFileSync(process.argv[1])",
  ];
  const probe = spawnSync(program, [...args, CHILD.pathname]);
  if (probe.status !== 0) skip("running as root, and unable to run our program as another user");
  return wrap;
}

function giveToNobody(path: string, mode: number): void {
  if (isRoot) chownSync(path, NOBODY, NOBODY);
  chmodSync(path, mode);
}

test.each([0o000, 0o022, 0o277])(
  "a new file and its companions are 0600 whatever the umask (%o)",
  async (umask) => {
    await using folder = await tempFolder();
    await using child = startChild(CHILD, "modes", { path: folder.file("a.sqlite"), umask });
    expect(await child.next()).toEqual([0o600, 0o600, 0o600]);
  },
);

test("missing folders are created with access for the owner only", async () => {
  await using folder = await tempFolder();
  using _database = await open(folder.file("deep/er/a.sqlite"));
  expect(statSync(folder.file("deep")).mode & 0o777).toBe(0o700);
  expect(statSync(folder.file("deep/er")).mode & 0o777).toBe(0o700);
});

test("an existing file keeps its mode", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("a.sqlite"), "");
  chmodSync(folder.file("a.sqlite"), 0o640);
  using _database = await open(folder.file("a.sqlite"));
  expect(statSync(folder.file("a.sqlite")).mode & 0o777).toBe(0o640);
});

test("a path where no file can exist is unavailable, with the cause and a hint", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("file"), "");
  mkdirSync(folder.file("folder"));
  symlinkSync(folder.file("nowhere/at/all"), folder.file("dangling"));
  for (const blocked of ["file/a.sqlite", "folder", "dangling"]) {
    await expect(open(folder.file(blocked)), blocked).rejects.toMatchObject({
      code: "database-unavailable",
      message: expect.stringContaining(folder.file(blocked)),
      hint: expect.stringMatching(/permissions/),
      cause: expect.objectContaining({ code: expect.any(String) }),
    });
  }
});

const FORBIDDEN: readonly { name: string; exists: boolean; fileMode: number; folderMode: number }[] = [
  { name: "a new file in a folder that may not be written", exists: false, fileMode: 0, folderMode: 0o500 },
  { name: "a file in a folder that may not be written", exists: true, fileMode: 0o600, folderMode: 0o500 },
  { name: "a file that may not be written", exists: true, fileMode: 0o400, folderMode: 0o700 },
  { name: "a file that may not be read", exists: true, fileMode: 0o000, folderMode: 0o700 },
];
for (const { name, exists, fileMode, folderMode } of FORBIDDEN) {
  test(`${name} is unavailable, with the cause and a hint`, async (context) => {
    const wrap = withoutRoot(context);
    await using folder = await tempFolder();
    chmodSync(folder.path, 0o711);
    const path = folder.file("inner/a.sqlite");
    mkdirSync(folder.file("inner"));
    if (exists) {
      (await open(path))[Symbol.dispose]();
      giveToNobody(path, fileMode);
    }
    giveToNobody(folder.file("inner"), folderMode);
    await using child = startChild(CHILD, "try-open", { path }, { wrap });
    const report = await child.next();
    chmodSync(folder.file("inner"), 0o700); // so that it can be removed
    expect(report).toMatchObject({
      code: "database-unavailable",
      message: expect.stringContaining(path),
      hint: expect.stringMatching(/permissions/),
      cause: expect.stringMatching(/^(EACCES|SQLITE_)/),
    });
  });
}

test("a full disk loses only the write that found it full", async ({ skip }) => {
  await using folder = await tempFolder();
  // In its own mount namespace, the small disk disappears when the process exits.
  const wrap = ["unshare", "--map-root-user", "--mount", "sh", "-c"];
  const mount = `mount -t tmpfs -o size=512k tmpfs "$0"`;
  const [program = "", ...args] = [...wrap, mount, folder.path];
  if (spawnSync(program, args).status !== 0) skip("mounting a small disk is not allowed here");
  const disk = [...wrap, `${mount} && exec "$@"`, folder.path];
  await using child = startChild(CHILD, "fill-disk", { folder: folder.path }, { wrap: disk });
  const report = await child.next<{ kept: number; rows: number }>();
  expect(report).toMatchObject({
    full: { code: "database-unavailable", hint: expect.stringContaining("Free some space") },
    fresh: { code: "database-unavailable" },
    findings: [],
    afterwards: "none",
  });
  expect(report.kept).toBeGreaterThan(0);
  expect(report.rows).toBe(report.kept);
});
