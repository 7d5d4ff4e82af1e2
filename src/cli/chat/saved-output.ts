import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";

/** The name of the file with the whole output, if the output was truncated for the model. */
export function findSavedOutput(body: string): string | undefined {
  const path = /^\[Output truncated: .* is in (\S+)\]$/m.exec(body)?.[1];
  return path === undefined ? undefined : basename(path);
}

/** The whole output of a call. A command can print any path, so only files of our own folder are read. */
export async function readWholeOutput(body: string, folder: string): Promise<string> {
  const name = findSavedOutput(body);
  if (name === undefined) return body;
  return readFile(join(folder, name), "utf8").catch(() => body); // it may have been cleaned up since
}
