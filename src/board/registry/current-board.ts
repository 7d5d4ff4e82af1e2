import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files/files.ts";
import { DEFAULT_BOARD } from "../board-slug.ts";

/** The slug last passed to `switchBoard`, even if that board no longer exists; undefined for the default board. */
export async function findCurrentBoard(root: string): Promise<string | undefined> {
  return (await readTextFile(pointerPath(root)))?.trim() || undefined;
}

/** Makes a board the default for later commands. */
export async function switchBoard(root: string, slug: string): Promise<void> {
  if (slug === DEFAULT_BOARD) return rm(pointerPath(root), { force: true });
  await ensurePrivateFolder(join(root, "kanban"));
  await writeFileAtomic(pointerPath(root), `${slug}\n`, { mode: 0o600 });
}

function pointerPath(root: string): string {
  return join(root, "kanban", "current");
}
