import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { findProjectContext } from "./project-context.ts";

const never = new AbortController().signal;

async function project(files: Readonly<Record<string, string>>) {
  const temp = await tempFolder();
  for (const [name, text] of Object.entries({ ".git/HEAD": "ref: x", ...files })) {
    await mkdir(dirname(temp.file(name)), { recursive: true });
    await writeFile(temp.file(name), text);
  }
  return temp;
}

it.each([
  [{ ".hermes.md": "ours", "AGENTS.md": "theirs" }, ".hermes.md", "ours"],
  [{ "HERMES.md": "ours", "AGENTS.md": "theirs" }, "HERMES.md", "ours"],
  [{ "AGENTS.md": "agents", "CLAUDE.md": "claude" }, "AGENTS.md", "agents"],
  [{ "CLAUDE.md": "claude", ".cursorrules": "cursor" }, "CLAUDE.md", "claude"],
  [{ ".cursorrules": "cursor" }, ".cursorrules", "cursor"],
  [
    { ".cursorrules": "cursor", ".cursor/rules/b.mdc": "b", ".cursor/rules/a.mdc": "a" },
    ".cursor/rules",
    "cursor\n\na\n\nb",
  ],
  [{ "AGENTS.md": "  \n", "CLAUDE.md": "claude" }, "CLAUDE.md", "claude"],
])("A11: of %j the first that says something counts", async (files, name, text) => {
  await using temp = await project(files);
  expect(await findProjectContext(temp.path, never)).toEqual({ path: temp.file(name), text });
});

it("A11: ours is looked for up to the root of the repository, others only here", async () => {
  await using temp = await project({
    "repo/.hermes.md": "ours",
    "repo/AGENTS.md": "theirs",
    "repo/a/b/x": "",
  });
  await mkdir(temp.file("repo/.git"));
  const found = await findProjectContext(temp.file("repo/a/b"), never);
  expect(found?.path).toBe(temp.file("repo/.hermes.md"));
});

it.each([".git", ".git/HEAD"])(
  "A11: nothing above the root of a repository or worktree counts (%s)",
  async (mark) => {
    await using temp = await project({
      ".hermes.md": "not of this project",
      [`inner/${mark}`]: "gitdir: x",
      "inner/a/x": "",
    });
    expect(await findProjectContext(temp.file("inner/a"), never)).toBeUndefined();
  },
);

it("A11: a long file keeps its beginning and its end", async () => {
  await using temp = await project({ "AGENTS.md": `first${"x".repeat(300_000)}last` });
  const { text = "" } = (await findProjectContext(temp.path, never)) ?? {};
  expect(text.length).toBeLessThan(20_000);
  expect(text).toMatch(/^first[\s\S]*characters left out[\s\S]*last$/);
});

it("A11: a FIFO, a folder and a file without an end are not waited for", async () => {
  await using temp = await project({ "CLAUDE.md/x": "" });
  await promisify(execFile)("mkfifo", [temp.file(".hermes.md")]);
  await promisify(execFile)("ln", ["-s", "/dev/zero", join(temp.path, "AGENTS.md")]);
  expect(await findProjectContext(temp.path, never)).toBeUndefined();
});

it("a stop ends the search", async () => {
  await using temp = await project({ "AGENTS.md": "x" });
  await expect(findProjectContext(temp.path, AbortSignal.abort())).rejects.toThrow();
});
