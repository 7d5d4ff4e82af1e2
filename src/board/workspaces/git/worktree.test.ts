import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { codeOf, openSqliteLab, openStage } from "../../../../test/support/board-lab.ts";
import { scriptModule } from "../../../../test/support/script-module.ts";
import { listNames } from "../../../lib/files/unless-missing.ts";
import { runProcess } from "../../../lib/process/process.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import type { NewTask } from "../../operations/tasks/create-task.ts";
import { boardFolders } from "../board-folders.ts";
import { cleanUpWorkspace, cleanUpWorkspaces } from "../clean-up-workspace.ts";
import { prepareWorkspace } from "../prepare-workspace.ts";
import type { WorkspaceLocation } from "../workspace.ts";
import { findBranchUser } from "./find-branch-user.ts";

async function openLab() {
  const stage = await openStage(openSqliteLab);
  const root = await realpath(stage.lab.location.root);
  const home = join(root, "home");
  const repository = join(home, "repo");
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@example.org",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@example.org",
    GIT_CONFIG_GLOBAL: "/dev/null",
  };
  const git = async (cwd: string, ...args: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await runProcess(["git", ...args], { cwd, env }, neverAborted);
    if (exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
    return stdout.trim();
  };
  await mkdir(repository, { recursive: true });
  await git(home, "init", "--quiet", "--bare", "remote.git");
  await git(repository, "init", "--quiet", "--initial-branch=main");
  await writeFile(join(repository, "file"), "one\n");
  await git(repository, "add", ".");
  await git(repository, "commit", "--quiet", "--message=first");
  await git(repository, "remote", "add", "origin", join(home, "remote.git"));
  await git(repository, "push", "--quiet", "--set-upstream", "origin", "main");
  const location: WorkspaceLocation = {
    ...boardFolders(root, "lab"),
    home,
    defaultWorkdir: null,
    env: { ...env, GIT_DIR: "/nowhere" },
    now: () => stage.lab.now(),
  };
  const prepare = async (id: string, changed: Partial<WorkspaceLocation> = {}) =>
    prepareWorkspace(
      (await stage.store.show(id, neverAborted)).task,
      { ...location, ...changed },
      neverAborted,
    );
  return {
    ...stage,
    home,
    repository,
    location,
    git,
    prepare,
    addWorktree: (details: Partial<NewTask> = {}) =>
      stage.add("a", { workspaceKind: "worktree", workspacePath: repository, ...details }),
    cleanUp: (id: string) => cleanUpWorkspace({ store: stage.store, location }, id, neverAborted),
    finish: (id: string) => stage.operator.complete(id, {}, neverAborted),
    commit: async (path: string) => {
      await writeFile(join(path, "work"), "done\n");
      await git(path, "add", ".");
      await git(path, "commit", "--quiet", "--message=work");
    },
    branches: async () => (await git(repository, "branch", "--format=%(refname:short)")).split("\n"),
    exists: (path: string) =>
      stat(path).then(
        () => true,
        () => false,
      ),
  };
}

test("a filter that the repository defines is not run; a filter of the user is", async () => {
  await using lab = await openLab();
  const { home, repository, git } = lab;
  const ran = join(home, "ran");
  await writeFile(join(repository, ".gitattributes"), "file filter=theirs\nother filter=mine\n");
  await writeFile(join(repository, "other"), "two\n");
  await git(repository, "add", ".");
  await git(repository, "commit", "--quiet", "--message=filters");
  await git(home, "config", "--file", join(home, ".gitconfig"), "filter.mine.smudge", "tr a-z A-Z");
  for (const name of ["theirs.smudge", "theirs.clean", "mine.smudge", "mine.clean"])
    await git(repository, "config", `filter.${name}`, `touch ${ran}; cat`);
  await git(repository, "config", "filter.theirs.required", "true");
  const { id } = await lab.addWorktree();

  const { path } = await lab.prepare(id);
  const [one, two] = await Promise.all(["file", "other"].map((name) => readFile(join(path, name), "utf8")));

  expect({ one, two, ran: await lab.exists(ran) }).toEqual({ one: "one\n", two: "TWO\n", ran: false });
});

test("board A8: with the root of a repository as path, the task gets its own worktree and branch from HEAD", async () => {
  await using lab = await openLab();
  const task = await lab.addWorktree();
  const path = join(lab.repository, ".worktrees", task.id);
  expect(await lab.prepare(task.id)).toEqual({ kind: "worktree", path, branch: `wt/${task.id}` });
  expect(await readFile(join(path, "file"), "utf8")).toBe("one\n");
  expect(await lab.git(path, "rev-parse", "HEAD")).toBe(await lab.git(lab.repository, "rev-parse", "main"));
  expect(await lab.git(lab.repository, "status", "--porcelain")).toBe("");
  await lab.commit(path);
  expect((await lab.prepare(task.id)).path).toBe(path);
  expect(await lab.exists(join(path, "work"))).toBe(true);
});

test("board G30: without a path the board's repository is used, never the current folder of the program", async () => {
  await using lab = await openLab();
  const task = await lab.add("a", { workspaceKind: "worktree" });
  expect(await codeOf(lab.prepare(task.id))).toBe("workspace-refused");
  expect(await codeOf(lab.prepare(task.id, { defaultWorkdir: lab.home }))).toBe("workspace-refused");
  expect(await codeOf(lab.prepare(task.id, { defaultWorkdir: "repo" }))).toBe("workspace-refused");
  const { path } = await lab.prepare(task.id, { defaultWorkdir: lab.repository });
  expect(path).toBe(join(lab.repository, ".worktrees", task.id));
});

test("board A8: a given path is used with the given branch, which is reused if it exists", async () => {
  await using lab = await openLab();
  await lab.git(lab.repository, "branch", "feature");
  const path = join(lab.home, "elsewhere", "feature");
  const task = await lab.addWorktree({ workspacePath: path, branchName: "feature" });
  const location = { defaultWorkdir: lab.repository };
  expect(await lab.prepare(task.id, location)).toEqual({ kind: "worktree", path, branch: "feature" });
  expect(await lab.git(path, "branch", "--show-current")).toBe("feature");
  await lab.finish(task.id);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "removed" });
  expect(await lab.branches()).toEqual(["feature", "main"]); // a branch that we did not create is kept
});

test("board A8: a given checkout on the task's branch is used and kept; if it is on another branch, the task gets its own worktree", async () => {
  await using lab = await openLab();
  const given = join(lab.home, "given");
  await lab.git(lab.repository, "worktree", "add", "--quiet", "-b", "feature", given);
  const same = await lab.addWorktree({ workspacePath: given, branchName: "feature" });
  expect(await lab.prepare(same.id)).toEqual({ kind: "worktree", path: given, branch: "feature" });
  await lab.finish(same.id);
  expect(await lab.cleanUp(same.id)).toMatchObject({ outcome: "none" });
  expect(await lab.exists(given)).toBe(true);
  const other = await lab.addWorktree({ workspacePath: given });
  expect((await lab.prepare(other.id)).path).toBe(join(lab.repository, ".worktrees", other.id));
});

test("board A8: a worktree is removed only if it is clean, and its own branch only if every commit is on a remote", async () => {
  await using lab = await openLab();
  const task = await lab.addWorktree();
  const { path } = await lab.prepare(task.id);
  await lab.commit(path);
  await writeFile(join(path, "untracked"), "x");
  await lab.finish(task.id);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "kept", reason: "uncommitted" });
  await rm(join(path, "untracked"));
  await lab.git(path, "checkout", "--quiet", "--detach");
  await lab.git(path, "commit", "--quiet", "--allow-empty", "--message=on no branch");
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "kept", reason: "unpushed" });
  await lab.git(path, "checkout", "--quiet", `wt/${task.id}`);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "removed" });
  expect(await lab.exists(path)).toBe(false);
  expect(await lab.branches()).toEqual(["main", `wt/${task.id}`]); // its commits are on no remote

  const pushed = await lab.addWorktree();
  const { path: second } = await lab.prepare(pushed.id);
  await lab.commit(second);
  await lab.git(second, "push", "--quiet", "--set-upstream", "origin", "HEAD");
  await lab.finish(pushed.id);
  expect(await lab.cleanUp(pushed.id)).toMatchObject({ outcome: "removed" });
  expect(await lab.branches()).not.toContain(`wt/${pushed.id}`);
});

test("without a remote, a child works on its parent's branch with the parent's commits", async () => {
  await using lab = await openLab();
  await lab.git(lab.repository, "remote", "remove", "origin");
  const parent = await lab.addWorktree({ branchName: "feature/x" });
  const child = await lab.addWorktree({ branchName: "feature/x", parents: [parent.id] });
  const { path } = await lab.prepare(parent.id);
  await lab.commit(path);
  await lab.finish(parent.id);
  expect(await lab.cleanUp(parent.id)).toMatchObject({ outcome: "removed" });
  const next = await lab.prepare(child.id);
  expect(next.branch).toBe("feature/x");
  expect(await lab.exists(join(next.path, "work"))).toBe(true);
});

test("a branch that another task has checked out is reported with that task, and is free when that task is done", async () => {
  await using lab = await openLab();
  const parent = await lab.addWorktree({ branchName: "feature/x" });
  const more = { branchName: "feature/x", parents: [parent.id] };
  const children = [await lab.addWorktree(more), await lab.addWorktree(more)] as const;
  await lab.add("on no branch", { parents: [parent.id] });
  const userFor = async (id: string) =>
    findBranchUser((await lab.store.show(id, neverAborted)).task, lab.location, neverAborted);
  const { path } = await lab.prepare(parent.id);
  expect(await userFor(children[0].id)).toEqual({ branch: "feature/x", path, taskId: parent.id });
  expect(await userFor(parent.id)).toBeUndefined();
  await lab.commit(path);
  await lab.finish(parent.id);
  expect(await lab.cleanUp(parent.id)).toMatchObject({ outcome: "removed" }); // although a child is open
  expect(await userFor(children[0].id)).toBeUndefined();
  const next = await lab.prepare(children[0].id);
  expect(await userFor(children[1].id)).toMatchObject({ path: next.path, taskId: children[0].id });
  await lab.git(next.path, "checkout", "--quiet", "--detach");
  await lab.git(lab.repository, "checkout", "--quiet", "feature/x");
  expect(await userFor(children[1].id)).toMatchObject({ path: lab.repository, taskId: undefined });
});

test("commits on the task's branch are kept when the worker has switched to another branch", async () => {
  await using lab = await openLab();
  const task = await lab.addWorktree();
  const { path } = await lab.prepare(task.id);
  await lab.commit(path);
  await lab.git(path, "checkout", "--quiet", "--detach", "main");
  await lab.finish(task.id);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "removed" });
  expect(await lab.branches()).toContain(`wt/${task.id}`);
});

test("a worktree that git refuses to remove is kept: the removal is never forced", async () => {
  await using lab = await openLab();
  const task = await lab.addWorktree();
  const { path } = await lab.prepare(task.id);
  await lab.git(lab.repository, "worktree", "lock", path);
  await lab.finish(task.id);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "kept", reason: "git-refused" });
  expect(await lab.exists(path)).toBe(true);
});

test("hostile branches, paths and links are refused, and the repository stays unchanged", async () => {
  await using lab = await openLab();
  const before = await lab.branches();
  for (const branchName of ["a..b", "@{-1}", "x.lock", "/abs", "a~1"]) {
    const { id } = await lab.addWorktree({ branchName: "fine" });
    await lab.lab.raw(`update task set branch_name = '${branchName}' where id = '${id}'`); // older versions accepted such names
    expect(await codeOf(lab.prepare(id)), branchName).toBe("workspace-refused");
  }
  for (const workspacePath of ["relative", "--force", join(lab.home, "remote.git", "HEAD", "x"), lab.home]) {
    const { id } = await lab.addWorktree({ workspacePath });
    expect(await codeOf(lab.prepare(id)), workspacePath).toBe("workspace-refused");
  }
  await mkdir(join(lab.home, "outside"));
  await symlink(join(lab.home, "outside"), join(lab.repository, ".worktrees"));
  const { id } = await lab.addWorktree();
  expect(await codeOf(lab.prepare(id))).toBe("workspace-refused");
  expect(await readdir(join(lab.home, "outside"))).toEqual([]);
  expect(await lab.branches()).toEqual(before);
});

test("a separate repository at the path of the task's worktree is neither used nor moved", async () => {
  await using lab = await openLab();
  const task = await lab.addWorktree();
  const path = join(lab.repository, ".worktrees", task.id);
  await mkdir(path, { recursive: true });
  await lab.git(path, "init", "--quiet");
  for (const _ of [1, 2]) expect(await codeOf(lab.prepare(task.id))).toBe("workspace-refused");
  await lab.finish(task.id);
  await lab.cleanUp(task.id);
  expect(await readdir(path)).toEqual([".git"]);
});

test("board G28: a worktree that is no longer provably ours is used and kept", async () => {
  await using lab = await openLab();
  const task = await lab.addWorktree();
  const { path } = await lab.prepare(task.id);
  await lab.git(path, "checkout", "--quiet", "-b", "other");
  await rm(join(lab.location.workspaces, ".made"), { recursive: true });
  expect(await lab.prepare(task.id)).toEqual({ kind: "worktree", path, branch: "other" });
  await lab.finish(task.id);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "none" });
  await rm(path, { recursive: true });
  expect(await codeOf(lab.prepare(task.id))).toBe("workspace-refused"); // git still lists the worktree, so a person must decide
});

test("a hook that a worker planted does not run in our git commands", async () => {
  await using lab = await openLab();
  const hook = join(lab.repository, ".git", "hooks", "post-checkout");
  await mkdir(join(lab.repository, ".git", "hooks"), { recursive: true });
  await writeFile(hook, `#!/bin/sh\ntouch '${join(lab.home, "escaped")}'\n`);
  await chmod(hook, 0o755);
  await lab.prepare((await lab.addWorktree()).id);
  expect(await lab.exists(join(lab.home, "escaped"))).toBe(false);
});

test("concurrent calls create one worktree per task", async () => {
  await using lab = await openLab();
  const tasks = await Promise.all(Array.from({ length: 3 }, () => lab.addWorktree()));
  const made = await Promise.all([...tasks, ...tasks].map(({ id }) => lab.prepare(id)));
  expect(new Set(made.map(({ path }) => path)).size).toBe(tasks.length);
  const listed = await lab.git(lab.repository, "worktree", "list");
  expect(listed.split("\n")).toHaveLength(1 + tasks.length);
});

test("a worktree whose folder was deleted is created again, and a removed repository does not stop the cleanup", async () => {
  await using lab = await openLab();
  const task = await lab.addWorktree();
  const { path } = await lab.prepare(task.id);
  await rm(path, { recursive: true });
  expect((await lab.prepare(task.id)).path).toBe(path);
  expect(await lab.exists(join(path, "file"))).toBe(true);
  await rm(path, { recursive: true });
  await lab.finish(task.id);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "removed" });
  expect(await lab.branches()).toEqual(["main"]);

  const other = await lab.addWorktree();
  await lab.prepare(other.id);
  await lab.finish(other.id);
  await rm(lab.repository, { recursive: true });
  expect(await lab.cleanUp(other.id)).toMatchObject({ outcome: "removed" });
});

test("the worktree of a broken repository is kept, and the sweep continues with the others", async () => {
  await using lab = await openLab();
  const [broken, fine] = [await lab.addWorktree(), await lab.add("b")];
  const { path } = await lab.prepare(broken.id);
  await lab.prepare(fine.id);
  for (const { id } of [broken, fine]) await lab.finish(id);
  await rm(join(lab.repository, ".git"), { recursive: true });
  const swept = await cleanUpWorkspaces({ store: lab.store, location: lab.location }, neverAborted);
  expect(swept.find(({ taskId }) => taskId === broken.id)).toMatchObject({
    outcome: "kept",
    reason: "failed",
  });
  expect(swept.find(({ taskId }) => taskId === fine.id)).toMatchObject({ outcome: "removed" });
  expect(await lab.exists(join(path, "file"))).toBe(true);
});

test("after a kill in the middle of a checkout, the next call completes it", async () => {
  await using lab = await openLab();
  // A filter that never ends, so that the checkout is incomplete when all processes are killed.
  const started = join(lab.home, "started");
  await writeFile(join(lab.repository, ".gitattributes"), "late filter=slow\n");
  await writeFile(join(lab.repository, "late"), "late\n");
  await lab.git(lab.repository, "add", ".");
  await lab.git(lab.repository, "commit", "--quiet", "--message=late");
  const settings = ["config", "--file", join(lab.home, ".gitconfig")];
  await lab.git(lab.home, ...settings, "filter.slow.smudge", `echo $$ > '${started}'; exec sleep 1000`);
  const task = await lab.addWorktree();
  const path = join(lab.repository, ".worktrees", task.id);

  const program = `
    import { prepareWorkspace } from "${await scriptModule(new URL("../prepare-workspace.ts", import.meta.url))}";
    const { task, location } = JSON.parse(process.argv[1]);
    await prepareWorkspace(task, { ...location, now: () => 0 }, new AbortController().signal);`;
  const input = JSON.stringify({ task, location: lab.location });
  const args = ["--input-type=module", "--eval", program, input];
  const child = spawn(process.execPath, args, { stdio: "inherit" });
  const pid = await readOnceWritten(started);
  expect(child.exitCode).toBeNull();
  child.kill("SIGKILL");
  await once(child, "close");
  process.kill(-(await groupOf(pid)), "SIGKILL"); // git, which has its own process group
  expect(await lab.exists(join(path, ".git"))).toBe(true);
  expect(await lab.exists(join(path, "late"))).toBe(false);

  await lab.git(lab.home, ...settings, "filter.slow.smudge", "cat");
  expect(await lab.prepare(task.id)).toEqual({ kind: "worktree", path, branch: `wt/${task.id}` });
  expect(await readFile(join(path, "late"), "utf8")).toBe("late\n");
  expect(await lab.git(path, "status", "--porcelain")).toBe("");
  expect(await listNames(lab.location.quarantine)).toHaveLength(1);
  await lab.git(lab.repository, "push", "--quiet");
  await lab.finish(task.id);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "removed" });
  expect(await lab.branches()).toEqual(["main"]); // the branch is known as ours although the killed process created it
});

async function readOnceWritten(path: string): Promise<number> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const text = await readFile(path, "utf8").catch(() => "");
    if (text.endsWith("\n")) return Number(text);
    await sleep(20);
  }
  throw new Error(`nothing was written to ${path}`);
}

async function groupOf(pid: number): Promise<number> {
  const facts = await readFile(`/proc/${pid}/stat`, "utf8");
  return Number(facts.slice(facts.lastIndexOf(")") + 2).split(" ")[2]);
}

test("submodules, including nested ones, are checked out and removed with the worktree; unpushed submodule commits keep it", async () => {
  await using lab = await openLab();
  const { git, home, repository } = lab;
  const allow = ["-c", "protocol.file.allow=always"];
  for (const [name, inner] of [["inner"], ["lib", "inner"]] as const) {
    await git(home, "init", "--quiet", "--initial-branch=main", name);
    await writeFile(join(home, name, "content"), `${name}\n`);
    if (inner !== undefined)
      await git(join(home, name), ...allow, "submodule", "--quiet", "add", join(home, inner), inner);
    await git(join(home, name), "add", ".");
    await git(join(home, name), "commit", "--quiet", "--message=first");
  }
  await git(repository, ...allow, "submodule", "--quiet", "add", join(home, "lib"), "with space/lib");
  await git(repository, ...allow, "submodule", "--quiet", "update", "--init", "--recursive");
  await git(repository, "commit", "--quiet", "--message=submodule");
  await git(repository, "push", "--quiet");
  const add = async () => {
    const task = await lab.add("a", { workspaceKind: "worktree", workspacePath: repository });
    return { id: task.id, path: (await lab.prepare(task.id)).path };
  };
  const clean = async ({ id }: { id: string }) => {
    await lab.operator.complete(id, { summary: "done" }, neverAborted);
    return cleanUpWorkspace({ store: lab.store, location: lab.location }, id, neverAborted);
  };
  const [plain, busy] = [await add(), await add()];
  expect(await readFile(join(plain.path, "with space/lib/content"), "utf8")).toBe("lib\n");
  expect(await readFile(join(plain.path, "with space/lib/inner/content"), "utf8")).toBe("inner\n");
  expect(await git(plain.path, "status", "--porcelain")).toBe("");

  const lib = join(busy.path, "with space/lib");
  await writeFile(join(lib, "content"), "changed\n");
  await git(lib, "commit", "--quiet", "--all", "--message=mine");
  await git(busy.path, "commit", "--quiet", "--all", "--message=mine");
  expect(await clean(busy)).toMatchObject({ outcome: "kept", reason: "unpushed" });
  expect(await readFile(join(lib, "content"), "utf8")).toBe("changed\n");

  expect(await clean(plain)).toMatchObject({ outcome: "removed" });
  await expect(stat(plain.path)).rejects.toThrow("ENOENT");
  expect(await git(repository, "worktree", "list")).not.toContain(plain.id);
  expect(await git(join(repository, "with space/lib"), "worktree", "list")).not.toContain(plain.id);
});
