import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { readModules } from "./imports.ts";

const SCALE = "test/support/scale.ts";
const NEW_SECONDS = 6 * 3_600;
/** The git id of the empty tree: compared with it, every file is new. */
const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/** The end-to-end tests of a part. A part that is not listed is tested by those of the agent, which uses all parts. */
const END_TO_END: Readonly<Record<string, readonly string[]>> = {
  environments: ["test/e2e/sandbox", "test/e2e/streamed-input"],
  board: ["test/board-contracts/", "test/e2e/kanban"],
  profiles: ["test/e2e/profile"],
};
const AGENT_TESTS = ["test/e2e/agent"];

/** Finds the test files that use a count of scale.ts. All other tests would run exactly as in `npm test`. */
export function findDeepFiles(root: string): string[] {
  const users = new Map<string, string[]>();
  for (const folder of ["src", "test"]) {
    for (const { path, imports } of readModules(join(root, folder))) {
      for (const target of imports) {
        const file = join(folder, target);
        users.set(file, [...(users.get(file) ?? []), join(folder, path)]);
      }
    }
  }
  const found = new Set([SCALE]);
  for (const file of found) for (const user of users.get(file) ?? []) found.add(user); // the set grows during the iteration
  return [...found].filter((file) => file.endsWith(".test.ts")).toSorted();
}

/** The folders whose deep lane covers the changed files: the folder of each changed part, and its end-to-end tests. */
export function foldersOf(changed: readonly string[]): string[] {
  const folders = changed.flatMap((file) => {
    const [top, part = "", ...rest] = file.split("/");
    if (top === "src" && rest.length > 0) return [`src/${part}/`, ...(END_TO_END[part] ?? AGENT_TESTS)];
    return file.endsWith(".test.ts") ? [file] : [];
  });
  return [...new Set(folders)].toSorted();
}

/**
 * Finds the files that changed in this checkout. HERMES_CI_BASE names the commit to compare with. Without it, a branch is compared
 * with its merge base on the main branch of its origin. A fresh clone of the main branch does not show what was tested before, so
 * there the changes of the six hours before the last commit count; without older commits, as in a shallow clone, every file counts.
 */
export function findChangedFiles(root: string, variables: NodeJS.ProcessEnv): string[] {
  const git = (...args: readonly string[]): string =>
    spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout?.trim() ?? "";
  const head = git("rev-parse", "HEAD");
  const left = git("merge-base", "HEAD", "refs/remotes/origin/HEAD");
  const newSince = Number(git("log", "-1", "--format=%ct")) - NEW_SECONDS;
  const older = git("log", "-1", "--first-parent", `--before=${newSince}`, "--format=%H");
  const base = variables["HERMES_CI_BASE"] || (left !== head && left) || older || EMPTY_TREE;
  return git("diff", "--name-only", base, "HEAD")
    .split("\n")
    .filter((line) => line !== "");
}
