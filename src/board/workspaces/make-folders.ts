import type { Stats } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errnoOf, messageOf } from "../../lib/errors.ts";
import { workspaceRefused } from "./workspace.ts";

/** Makes a folder with its parents; what exists stays as it is. Throws `workspace-refused` when none can be there. */
export async function makeFolders(path: string): Promise<void> {
  if (await isFolder(path)) return;
  await makeFolders(dirname(path)); // Node's own way never returns where a file system says ENOENT for good
  try {
    await mkdir(path);
  } catch (error) {
    if (errnoOf(error) === "EEXIST" && (await isFolder(path))) return; // somebody else was quicker
    throw workspaceRefused(`Cannot make ${path}: ${messageOf(error)}.`, error);
  }
}

/** False when nothing is there. */
async function isFolder(path: string): Promise<boolean> {
  let facts: Stats;
  try {
    facts = await stat(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw workspaceRefused(`Cannot use ${path}: ${messageOf(error)}.`, error);
  }
  if (facts.isDirectory()) return true;
  throw workspaceRefused(`${path} is not a folder.`);
}
