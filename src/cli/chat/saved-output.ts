import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";

/** The name of the file with all of an output, if the output was too long to be shown to the model. */
export function findSavedOutput(body: string): string | undefined {
  const path = /^\[Output truncated: .* is in (\S+)\]$/m.exec(body)?.[1];
  return path === undefined ? undefined : basename(path);
}

/** All of the output of a call. The text of a command may name any file, so only those of our own folder are read. */
export async function readWholeOutput(body: string, folder: string): Promise<string> {
  const name = findSavedOutput(body);
  if (name === undefined) return body;
  return readFile(join(folder, name), "utf8").catch(() => body); // it may have been cleaned up since
}
