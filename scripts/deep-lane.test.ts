import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test/support/temp-folder.ts";
import { findChangedFiles, findDeepFiles, foldersOf } from "./deep-lane.ts";

async function write(root: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

/** A repository with one commit at each of these hours; each commit adds a file named after its hour. */
async function openHistory(...hours: number[]) {
  const folder = await tempFolder();
  const git = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      cwd: folder.path,
      encoding: "utf8",
      env: { PATH: process.env["PATH"], HOME: folder.path, ...env },
    }).trim();
  const commit = async (hour: number) => {
    await write(folder.path, { [`src/board/${hour}.ts`]: "" });
    git(["add", "."]);
    const date = `2026-01-02T${`${hour}`.padStart(2, "0")}:00:00Z`;
    git(["commit", "-qm", `${hour}`], { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date });
  };
  git(["init", "-q", "-b", "main"]);
  for (const hour of hours) await commit(hour);
  return { root: folder.path, git, commit, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

test("the deep lane is every test file that imports a count, directly or not", async () => {
  await using folder = await tempFolder();
  await write(folder.path, {
    "test/support/scale.ts": "export const scale = {};",
    "test/support/lab.ts": 'import { scale } from "./scale.ts";',
    "test/e2e/agent-kill.test.ts": 'import { lab } from "../support/lab.ts";',
    "test/e2e/agent.test.ts": "",
    "src/a/a.contract.ts": 'import { scale } from "../../test/support/scale.ts";',
    "src/a/a.test.ts": 'import { contract } from "./a.contract.ts";',
    "src/a/b.test.ts": 'import { b } from "./b.ts";',
  });
  expect(findDeepFiles(folder.path)).toEqual(["src/a/a.test.ts", "test/e2e/agent-kill.test.ts"]);
});

test("a changed file selects its part and the end-to-end tests of that part", () => {
  expect(foldersOf(["src/environments/ssh/a.ts", "src/environments/b.ts", "README.md"])).toEqual([
    "src/environments/",
    "test/e2e/sandbox",
    "test/e2e/streamed-input",
  ]);
  expect(foldersOf(["src/sessions/a.ts", "test/e2e/kanban.test.ts"])).toEqual([
    "src/sessions/",
    "test/e2e/agent",
    "test/e2e/kanban.test.ts",
  ]);
});

test("on the main branch the changes of the last six hours are new; without older commits every file is new", async () => {
  await using history = await openHistory(1, 4, 9);
  expect(findChangedFiles(history.root, {})).toEqual(["src/board/4.ts", "src/board/9.ts"]);
  await using short = await openHistory(4, 9);
  expect(findChangedFiles(short.root, {})).toEqual(["src/board/4.ts", "src/board/9.ts"]);
});

test("on a branch the changes of the branch are new, and a given base takes precedence", async () => {
  await using history = await openHistory(8);
  history.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
  history.git(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
  await history.commit(9);
  await history.commit(10);
  expect(findChangedFiles(history.root, {})).toEqual(["src/board/10.ts", "src/board/9.ts"]);
  expect(findChangedFiles(history.root, { HERMES_CI_BASE: "HEAD~1" })).toEqual(["src/board/10.ts"]);
});
