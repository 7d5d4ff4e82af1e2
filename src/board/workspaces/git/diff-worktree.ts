import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { headOf } from "../../../lib/text/shorten.ts";
import { createGit, type Git } from "./git.ts";

export interface FileDiff {
  readonly path: string;
  /** Null for a binary file. */
  readonly added: number | null;
  readonly removed: number | null;
  readonly state: "added" | "changed" | "deleted" | "renamed";
}

/** The differences between a worktree and the commit at which its branch started. */
export interface WorktreeDiff {
  readonly base: string;
  readonly files: readonly FileDiff[];
  readonly added: number;
  readonly removed: number;
  /** A unified diff. */
  readonly text: string;
  readonly isCut: boolean;
}

const MAX_TEXT = 1_000_000;
/** Untracked files. */
const MAX_NEW_FILES = 200;
const MAX_NEW_BYTES = 256 * 1024;
const OPTIONS = ["--no-ext-diff", "--no-textconv", "--no-color", "--find-renames"];

/** Compares a worktree with the commit at which its branch left the head of its repository; throws `workspace-refused`. */
export async function diffWorktree(
  { path, repository }: { readonly path: string; readonly repository: string },
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<WorktreeDiff> {
  const git = createGit(path, env, signal);
  const main = await createGit(repository, env, signal).try("rev-parse", "HEAD");
  const found = main.ok ? await git.try("merge-base", "HEAD", main.stdout.trim()) : main;
  const base = (found.ok ? found.stdout : await git.run("rev-parse", "HEAD")).trim();
  const known = await listFiles(git, base);
  const tracked = await git.run("diff", ...OPTIONS, base);
  const fresh = await readNewFiles(git, path);
  const files = [...known, ...fresh.map(({ file }) => file)];
  const text = [tracked, ...fresh.map((one) => one.text)].join("");
  const sum = (count: (file: FileDiff) => number | null): number =>
    files.reduce((total, file) => total + (count(file) ?? 0), 0);
  return {
    base,
    files,
    added: sum(({ added }) => added),
    removed: sum(({ removed }) => removed),
    text: headOf(text, MAX_TEXT),
    isCut: text.length > MAX_TEXT,
  };
}

async function listFiles(git: Git, base: string): Promise<FileDiff[]> {
  const states = new Map<string, FileDiff["state"]>();
  const names = (await git.run("diff", ...OPTIONS, "--name-status", "-z", base)).split("\0");
  for (let at = 0; at + 1 < names.length; ) {
    const letter = names[at++]?.[0];
    const isRename = letter === "R" || letter === "C";
    if (isRename) at++; // the old name
    const state = isRename ? "renamed" : letter === "A" ? "added" : letter === "D" ? "deleted" : "changed";
    states.set(names[at++] ?? "", state);
  }
  const files: FileDiff[] = [];
  const fields = (await git.run("diff", ...OPTIONS, "--numstat", "-z", base)).split("\0");
  for (let at = 0; at < fields.length; at++) {
    const [added = "", removed = "", name] = fields[at]?.split("\t") ?? [];
    if (name === undefined) continue;
    // For a rename this field is empty, and the old and new names follow as separate fields.
    const path = name === "" ? (fields[at + 2] ?? "") : name;
    if (name === "") at += 2;
    const count = (text: string): number | null => (text === "-" ? null : Number(text));
    files.push({ path, added: count(added), removed: count(removed), state: states.get(path) ?? "changed" });
  }
  return files;
}

async function readNewFiles(
  git: Git,
  folder: string,
): Promise<readonly { readonly file: FileDiff; readonly text: string }[]> {
  const names = (await git.run("ls-files", "--others", "--exclude-standard", "-z"))
    .split("\0")
    .filter((name) => name !== "");
  const found = [];
  for (const path of names.slice(0, MAX_NEW_FILES)) {
    const text = await readText(join(folder, path));
    const lines = text === undefined ? [] : text.replace(/\n$/, "").split("\n");
    const added = text === undefined ? null : text === "" ? 0 : lines.length;
    const file = { path, added, removed: text === undefined ? null : 0, state: "added" } as const;
    const head = `diff --git a/${path} b/${path}\nnew file mode 100644\n`;
    if (added === null) found.push({ file, text: `${head}Binary files /dev/null and b/${path} differ\n` });
    else if (added === 0) found.push({ file, text: head });
    else {
      const body = lines.map((line) => `+${line}\n`).join("");
      const end = text?.endsWith("\n") ? "" : "\\ No newline at end of file\n";
      found.push({
        file,
        text: `${head}--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${added} @@\n${body}${end}`,
      });
    }
  }
  return found;
}

/** Undefined unless the path is a small regular text file; a worker could have created a link. */
async function readText(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  if (file === undefined) return undefined;
  try {
    const facts = await file.stat();
    if (!facts.isFile() || facts.size > MAX_NEW_BYTES) return undefined;
    const bytes = await file.readFile();
    return bytes.includes(0) ? undefined : bytes.toString("utf8");
  } finally {
    await file.close();
  }
}
