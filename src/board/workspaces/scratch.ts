import { lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../lib/errors.ts";
import { type Workspace, workspaceRefused } from "./workspace.ts";
import { findRecord, identityOf, writeRecord } from "./workspace-record.ts";

/** The scratch folder of a task: the one it had before, or a new one. Its name has been checked, and its lock is held. */
export async function prepareScratch(root: string, taskId: string): Promise<Workspace> {
  const path = join(root, taskId);
  const isNew = await makeFolder(path);
  const identity = await identityOf(path);
  if (identity === undefined)
    throw workspaceRefused(`${path} is not a folder, and no link is followed there.`);
  const record = await findRecord(root, taskId);
  // One that is empty was made by us or holds nothing; any other that we have no record of is used and never removed.
  if (record?.identity !== identity && (isNew || (await readdir(path)).length === 0))
    await writeRecord(root, taskId, { kind: "scratch", path, identity });
  return { kind: "scratch", path };
}

async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    const facts = await lstat(path);
    if (facts.isDirectory()) return false;
    throw workspaceRefused(`${path} is not a folder, and no link is followed there.`, error);
  }
}
