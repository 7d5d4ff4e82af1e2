import { lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../lib/errors.ts";
import { type Workspace, workspaceRefused } from "./workspace.ts";
import { findRecord, identityOf, writeRecord } from "./workspace-record.ts";

/** The scratch folder of a task, existing or new. The caller has checked the id and holds the lock of the task. */
export async function prepareScratch(root: string, taskId: string): Promise<Workspace> {
  const path = join(root, taskId);
  const isNew = await createFolder(path);
  const identity = await identityOf(path);
  if (identity === undefined)
    throw workspaceRefused(`${path} is not a folder. A link to a folder is not accepted.`);
  const record = await findRecord(root, taskId);
  // An empty folder is safe to claim as ours; a non-empty folder without a record is used but never removed.
  if (record?.identity !== identity && (isNew || (await readdir(path)).length === 0))
    await writeRecord(root, taskId, { kind: "scratch", path, identity });
  return { kind: "scratch", path };
}

async function createFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    const facts = await lstat(path);
    if (facts.isDirectory()) return false;
    throw workspaceRefused(`${path} is not a folder. A link to a folder is not accepted.`, error);
  }
}
