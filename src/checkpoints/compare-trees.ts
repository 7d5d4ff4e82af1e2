import type { CheckpointGit } from "./checkpoint-git.ts";

/** A file or link in a tree; undefined where the path does not exist. */
export interface TreeEntry {
  readonly mode: string;
  readonly id: string;
}

export interface Change {
  readonly path: string;
  readonly from: TreeEntry | undefined;
  readonly to: TreeEntry | undefined;
}

/** The files that differ between two trees. */
export async function compareTrees(git: CheckpointGit, from: string, to: string): Promise<Change[]> {
  const text = await git.run(["diff-tree", "-r", "-z", "--no-renames", from, to]);
  const fields = text.split("\0");
  const changes: Change[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [oldMode = "", newMode = "", oldId = "", newId = ""] = (fields[index] ?? "").slice(1).split(" ");
    changes.push({ path: fields[index + 1] ?? "", from: entry(oldMode, oldId), to: entry(newMode, newId) });
  }
  return changes;
}

function entry(mode: string, id: string): TreeEntry | undefined {
  return mode === "000000" ? undefined : { mode, id };
}

export function isSame(one: TreeEntry | undefined, other: TreeEntry | undefined): boolean {
  return one?.id === other?.id && one?.mode === other?.mode;
}
