import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { findNestedRepositories } from "./nested-repositories.ts";
import { watchRepositories } from "./repository-watch.ts";

const git = (...args: string[]): void =>
  void execFileSync("git", [
    "-c",
    "user.name=a",
    "-c",
    "user.email=a@b",
    "-c",
    "protocol.file.allow=always",
    ...args,
  ]);

async function openProject() {
  const folder = await tempFolder();
  const project = join(folder.path, "project");
  git("init", "-q", project);
  git("-C", project, "commit", "-q", "--allow-empty", "-m", "first");
  return { project, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

/** The findings of a watch after a change by commands. */
async function findingsAfter(project: string, change: () => void): Promise<string[]> {
  const reported: string[] = [];
  const guarded = await findNestedRepositories(project);
  {
    await using _watch = watchRepositories([project], guarded, (text) => reported.push(text));
    change();
  }
  return reported;
}

test("agent K8: repositories below a project are found, and neither links nor installed packages are followed", async () => {
  await using lab = await openProject();
  const { project } = lab;
  git("init", "-q", join(project, "a", "b"));
  git("-C", project, "worktree", "add", "-q", join(project, ".worktrees", "one"));
  git("init", "-q", join(project, "node_modules", "x"));
  symlinkSync(join(project, "a"), join(project, "link"));
  expect(await findNestedRepositories(project)).toEqual([
    join(project, ".worktrees", "one", ".git"),
    join(project, "a", "b", ".git"),
  ]);
});

test.each<readonly [string, (repository: string) => void, string]>([
  [
    "a setting that names a program",
    (path) => appendFileSync(join(path, "config"), "[core]\n\tfsmonitor = ./x\n"),
    "sets core.fsmonitor",
  ],
  [
    "a setting on the line of its section",
    (path) => appendFileSync(join(path, "config"), '[filter "a"] clean = ./x\n'),
    "sets filter.clean",
  ],
  [
    "an included file",
    (path) => appendFileSync(join(path, "config"), "[include]\npath=../x\n"),
    "sets include.path",
  ],
  ["a hook", (path) => writeFileSync(join(path, "hooks", "pre-commit"), ""), "contains the hook pre-commit"],
  [
    "a redirection",
    (path) => writeFileSync(join(path, "commondir"), "../../evil\n"),
    "takes its settings from another folder",
  ],
])("agent K8: a new repository with %s is reported to the user", async (_, plant, words) => {
  await using lab = await openProject();
  const repository = join(lab.project, "nest", ".git");
  const reported = await findingsAfter(lab.project, () => {
    git("init", "-q", join(lab.project, "nest"));
    plant(repository);
  });
  expect(reported).toEqual([expect.stringContaining(`${repository}, which ${words}`)]);
});

test("agent K8: a clone, a work tree, a submodule and repositories that existed before are not reported", async () => {
  await using lab = await openProject();
  const { project } = lab;
  git("init", "-q", join(project, "old"));
  appendFileSync(join(project, "old", ".git", "config"), "[core]\n\tpager = less\n");
  const reported = await findingsAfter(project, () => {
    git("clone", "-q", project, join(project, "clone"));
    git("-C", project, "worktree", "add", "-q", join(project, "tree"));
    git("-C", project, "submodule", "--quiet", "add", join(project, "clone"), "module");
    mkdirSync(join(project, "empty", ".git"), { recursive: true });
  });
  expect(reported).toEqual([]);
});
