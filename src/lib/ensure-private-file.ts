import { closeSync, fchmodSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "./errors.ts";
import { makeFolder } from "./files.ts";

/** Makes an empty file (0600) and its folders (0700) where they are missing; what exists is neither changed nor opened. */
export async function ensurePrivateFile(path: string): Promise<void> {
  await makeFolder(dirname(path));
  // Exclusive and synchronous: closing a file drops every POSIX lock that this process has on it, so nobody
  // else in here may have opened it in between.
  let file: number;
  try {
    file = openSync(path, "wx", 0o600);
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return;
    throw error;
  }
  try {
    fchmodSync(file, 0o600); // the umask may have taken bits away
  } finally {
    closeSync(file);
  }
}
