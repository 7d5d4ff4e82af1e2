import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { diffWorktree } from "./diff-worktree.ts";
import { createGit } from "./git.ts";

const env = {
  PATH: process.env["PATH"],
  HOME: "/nowhere",
};

test("a worktree is compared with the commit at which its branch started, including new files but not the targets of links", async () => {
  await using folder = await tempFolder();
  const [repository, path] = [folder.file("shop"), folder.file("work")];
  await mkdir(repository);
  const main = createGit(repository, env, neverAborted);
  await main.run("init", "--quiet", "--initial-branch", "main");
  await main.run("config", "user.name", "Alice");
  await main.run("config", "user.email", "alice@example.org");
  await writeFile(join(repository, "a.txt"), "one\ntwo\nthree\n");
  await writeFile(join(repository, "old name.txt"), "same\n".repeat(20));
  await writeFile(join(repository, "gone.txt"), "gone\n");
  await main.run("add", ".");
  await main.run("commit", "--quiet", "-m", "first");
  await main.run("worktree", "add", "--quiet", "-b", "wt/task", path);
  const work = createGit(path, env, neverAborted);
  await writeFile(join(path, "a.txt"), "one\n2\nthree\n");
  await work.run("commit", "--quiet", "-am", "in the branch");
  // Later changes in the repository are not part of the diff.
  await writeFile(join(repository, "later.txt"), "later\n");
  await main.run("add", ".");
  await main.run("commit", "--quiet", "-m", "later");
  await rename(join(path, "old name.txt"), join(path, "new name.txt"));
  await work.run("add", "--all");
  await rm(join(path, "gone.txt"));
  await writeFile(join(path, "new.txt"), "x\ny");
  await writeFile(join(path, "pic.bin"), Buffer.from([0, 1, 2]));
  await writeFile(folder.file("secret"), "secret");
  await symlink(folder.file("secret"), join(path, "link.txt"));

  const diff = await diffWorktree({ path, repository }, env, neverAborted);
  expect(diff.files.toSorted((one, other) => (one.path < other.path ? -1 : 1))).toEqual([
    { path: "a.txt", added: 1, removed: 1, state: "changed" },
    { path: "gone.txt", added: 0, removed: 1, state: "deleted" },
    { path: "link.txt", added: null, removed: null, state: "added" },
    { path: "new name.txt", added: 0, removed: 0, state: "renamed" },
    { path: "new.txt", added: 2, removed: 0, state: "added" },
    { path: "pic.bin", added: null, removed: null, state: "added" },
  ]);
  expect([diff.added, diff.removed, diff.isCut]).toEqual([3, 2, false]);
  expect(diff.text).toContain("-two\n+2\n");
  expect(diff.text).toContain("@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n");
  expect(diff.text).not.toMatch(/secret\b|later/);
});
