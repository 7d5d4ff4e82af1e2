import type { Stats } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errnoOf, messageOf } from "../../lib/errors.ts";
import { workspaceRefused } from "./workspace.ts";

/** Creates a folder with its parents if they do not exist; throws `workspace-refused` when that is impossible. */
export async function createFolders(path: string): Promise<void> {
  if (await isFolder(path)) return;
  await createFolders(dirname(path)); // Node's recursive mkdir never returns on a file system that keeps failing with ENOENT
  try {
    await mkdir(path);
  } catch (error) {
    if (errnoOf(error) === "EEXIST" && (await isFolder(path))) return; // created by another process
    throw workspaceRefused(`Cannot create ${path}: ${messageOf(error)}.`, error);
  }
}

/** False when the path does not exist. */
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
