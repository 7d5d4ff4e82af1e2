import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../lib/files.ts";
import { DEFAULT_BOARD } from "./board-slug.ts";

/** What `switchBoard` was last told, whether it still exists or not; undefined for the default board. */
export async function findCurrentBoard(root: string): Promise<string | undefined> {
  return (await readTextFile(pointer(root)))?.trim() || undefined;
}

/** Makes a board the one that later commands mean. */
export async function switchBoard(root: string, slug: string): Promise<void> {
  if (slug === DEFAULT_BOARD) return rm(pointer(root), { force: true });
  await ensurePrivateFolder(join(root, "kanban"));
  await writeFileAtomic(pointer(root), `${slug}\n`, { mode: 0o600 });
}

function pointer(root: string): string {
  return join(root, "kanban", "current");
}
