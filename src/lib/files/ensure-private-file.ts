import { closeSync, fchmodSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "../errors.ts";
import { createFolder } from "./files.ts";

/** Creates an empty file (0600) and its folders (0700) if missing. An existing file is neither changed nor opened. */
export async function ensurePrivateFile(path: string): Promise<void> {
  await createFolder(dirname(path));
  // Exclusive and synchronous: closing a file drops every POSIX lock that this process holds on it, so no other code of this
  // process may open it in between.
  let file: number;
  try {
    file = openSync(path, "wx", 0o600);
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return;
    throw error;
  }
  try {
    fchmodSync(file, 0o600); // the umask may have removed bits
  } finally {
    closeSync(file);
  }
}
