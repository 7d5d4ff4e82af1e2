import { execFileSync } from "node:child_process";
import { chmod, mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { exists } from "../../lib/files/unless-missing.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { createFileProbe } from "./probe-files.ts";

const probe = createFileProbe(process.env, { trustsRepositories: true });

/** A repository with one committed file, and `bin` in its .gitignore. */
async function openRepository() {
  const folder = await tempFolder();
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: folder.path });
  git("init", "-q");
  await writeFile(join(folder.path, ".gitignore"), "bin\n");
  await writeFile(join(folder.path, "a.txt"), "one\n");
  git("add", ".");
  git("commit", "-qm", "first");
  return { ...folder, git, file: (name: string) => join(folder.path, name) };
}

test("K4: a tree is clean only if it has no changed, staged or untracked files", async () => {
  await using repository = await openRepository();
  const isClean = () => probe({ state: "clean-tree", paths: [repository.path] }, neverAborted);
  expect(await isClean()).toBe(true);
  repository.git("config", "status.showUntrackedFiles", "no");
  await writeFile(repository.file("new.txt"), "new");
  expect(await isClean()).toBe(false);
  repository.git("add", "new.txt");
  expect(await isClean()).toBe(false);
  repository.git("commit", "-qm", "second");
  await writeFile(repository.file("a.txt"), "two\n");
  expect(await isClean()).toBe(false);
});

test("K4: a folder that is in no repository or does not exist does not count as clean", async () => {
  await using folder = await tempFolder();
  for (const path of [folder.path, join(folder.path, "none")])
    expect(await probe({ state: "clean-tree", paths: [path] }, neverAborted)).toBe(false);
});

test("K4: only paths that git ignores and does not track count as ignored", async () => {
  await using repository = await openRepository();
  await mkdir(repository.file("bin"));
  await writeFile(repository.file("bin/tool"), "");
  const isIgnored = (...names: readonly string[]) =>
    probe({ state: "ignored", paths: names.map(repository.file) }, neverAborted);
  expect(await isIgnored("bin")).toBe(true);
  expect(await isIgnored("bin", "a.txt")).toBe(false);
  expect(await isIgnored("none")).toBe(false);
  repository.git("add", "-f", "bin/tool");
  expect(await isIgnored("bin")).toBe(false);
});

test("a file is missing until it exists", async () => {
  await using repository = await openRepository();
  const isMissing = () => probe({ state: "missing", paths: [repository.file(".env")] }, neverAborted);
  expect(await isMissing()).toBe(true);
  await writeFile(repository.file(".env"), "A=1");
  expect(await isMissing()).toBe(false);
});

test("K4: if commands run in a sandbox, the probe runs no filter of a repository, and no tree counts as clean", async () => {
  await using repository = await openRepository();
  await writeFile(repository.file(".gitattributes"), "* filter=planted\n");
  repository.git("add", ".");
  repository.git("commit", "-qm", "second");
  repository.git("config", "filter.planted.clean", `touch ${repository.file("planted")}; cat`);
  await utimes(repository.file("a.txt"), 1, 1); // git has to read the file to compare it
  const beside = createFileProbe(process.env, { trustsRepositories: false });
  expect(await beside({ state: "clean-tree", paths: [repository.path] }, neverAborted)).toBe(false);
  expect(await beside({ state: "ignored", paths: [repository.file("bin")] }, neverAborted)).toBe(true);
  expect(await exists(repository.file("planted"))).toBe(false);
});

test("K4: a program named git in the project is not run", async () => {
  await using repository = await openRepository();
  await writeFile(repository.file("git"), `#!/bin/sh\ntouch ${repository.file("planted")}\n`);
  await chmod(repository.file("git"), 0o755);
  const PATH = [".", repository.path, process.env["PATH"]].join(":");
  const asked = createFileProbe({ ...process.env, PATH }, { trustsRepositories: true });
  expect(await asked({ state: "clean-tree", paths: [repository.path] }, neverAborted)).toBe(false); // its file `git` is untracked
  expect(await exists(repository.file("planted"))).toBe(false);
});
