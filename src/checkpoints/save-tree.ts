import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../lib/errors.ts";
import { unlessMissing } from "../lib/files/unless-missing.ts";
import { type CheckpointGit, createCheckpointGit, type StoreLocation } from "./checkpoint-git.ts";
import type { PrivateModes } from "./private-modes.ts";

export interface SaveLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
}

export interface SaveRequest {
  readonly key: string;
  readonly limits: SaveLimits;
  readonly modes: PrivateModes;
  /** The path of the folder in the project, with a slash at its end; empty for the project itself. */
  readonly prefix: string;
}

/** A project's files as a tree of the store. */
export interface SavedTree {
  readonly tree: string;
  /** Files that are too large and are therefore not in the tree. */
  readonly omitted: readonly string[];
}

/**
 * Saves the files of a folder, except ignored ones, as one tree. The index keeps the state of the last save, so that only
 * changed files are read again. Nested repositories, such as submodules, are saved with their files.
 */
export async function saveTree(
  location: StoreLocation,
  folder: string,
  { key, limits, modes, prefix }: SaveRequest,
  signal: AbortSignal,
): Promise<SavedTree> {
  const git = createCheckpointGit(location, { workTree: folder, index: `index-${key}` }, signal);
  const listed = split(await git.run([...LIST, "--others", "--modified"]));
  const inner = listed.filter((path) => path.endsWith("/"));
  const files = listed.filter((path) => !path.endsWith("/"));
  const known = split(await git.run([...LIST, "--cached"]));
  if (new Set([...known, ...files]).size > limits.maxFiles)
    throw new AppError(
      "checkpoint-failed",
      `${folder} has more than ${limits.maxFiles} files, so its files were not saved.`,
      { hint: "Raise checkpoints.max_files, or ignore generated files in .gitignore." },
    );
  const omitted: string[] = [];
  const changed: string[] = [];
  for (const path of files) {
    const found = await unlessMissing(lstat(join(folder, path)));
    if (found?.isFile()) modes.note(prefix + path, found.mode);
    const isStorable = found === undefined || found.isFile() || found.isSymbolicLink();
    if (isStorable && (found?.size ?? 0) <= limits.maxFileBytes) changed.push(path);
    else if (isStorable) omitted.push(path);
  }
  if (changed.length > 0) await git.run([...UPDATE, "-z", "--stdin"], `${changed.join("\0")}\0`);
  // A file that has grown too large must not stay in the tree with its old content.
  if (omitted.length > 0)
    await git.run(["update-index", "--force-remove", "-z", "--stdin"], `${omitted.join("\0")}\0`);
  let tree = (await git.run(["write-tree"])).trim();
  for (const path of inner) {
    const saved = await saveTree(
      location,
      join(folder, path),
      {
        ...{ limits, modes, prefix: prefix + path },
        key: `${key}-${Buffer.from(path).toString("hex")}`,
      },
      signal,
    );
    omitted.push(...saved.omitted.map((name) => path + name));
    tree = await graft(git, tree, path, saved.tree);
  }
  return { tree, omitted };
}

const LIST = ["ls-files", "-z", "--exclude-standard"] as const;
const UPDATE = ["update-index", "--add", "--remove", "--replace"] as const;

/** Inserts a tree into another one at a path. Uses `mktree`, which leaves the index of the outer folder unchanged. */
async function graft(git: CheckpointGit, tree: string, path: string, inner: string): Promise<string> {
  const [name = "", ...rest] = path.split("/").filter((part) => part !== "");
  const rows = split(await git.run(["ls-tree", "-z", tree]));
  const old = rows.find((row) => row.endsWith(`\t${name}`));
  const below =
    rest.length === 0 ? inner : await graft(git, idOf(old) ?? (await emptyTree(git)), rest.join("/"), inner);
  const others = rows.filter((row) => row !== old);
  return (
    await git.run(["mktree", "-z"], [...others, `040000 tree ${below}\t${name}`, ""].join("\0"))
  ).trim();
}

function idOf(row: string | undefined): string | undefined {
  return row?.startsWith("040000") ? row.slice(12, row.indexOf("\t")) : undefined;
}

async function emptyTree(git: CheckpointGit): Promise<string> {
  return (await git.run(["mktree", "-z"])).trim();
}

export function split(text: string): string[] {
  return text.split("\0").filter((part) => part !== "");
}
