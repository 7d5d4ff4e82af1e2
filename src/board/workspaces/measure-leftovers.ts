import { lstat, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { errnoOf } from "../../lib/errors.ts";

const NEGLIGIBLE_BYTES = 1_024;
const SAMPLE_SIZE = 10;
const MAX_FILES = 20_000; // beyond this the numbers are lower bounds

/** A summary of the undeclared files that are removed with a workspace, for an event. */
export interface Leftovers {
  readonly path: string;
  readonly total_bytes: number;
  readonly file_count: number;
  /** The largest files. */
  readonly sample: readonly { readonly file: string; readonly bytes: number }[];
}

/** Measures the undeclared files of a folder without following links; undefined when their total is 1 KiB or less. */
export async function measureLeftovers(
  folder: string,
  declared: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Leftovers | undefined> {
  let total = 0;
  let count = 0;
  let sample: { readonly file: string; readonly bytes: number }[] = [];
  const folders = [folder];
  for (let at = 0; at < folders.length && count < MAX_FILES; at++) {
    signal.throwIfAborted();
    const current = folders[at] ?? folder;
    for (const entry of await entriesOf(current)) {
      const path = join(current, entry.name);
      const file = relative(folder, path);
      if (entry.isDirectory()) folders.push(path);
      if (!entry.isFile() || declared.has(file)) continue;
      const bytes = (await lstat(path)).size;
      total += bytes;
      count++;
      sample = [...sample, { file, bytes }].toSorted((a, b) => b.bytes - a.bytes).slice(0, SAMPLE_SIZE);
    }
  }
  if (total <= NEGLIGIBLE_BYTES) return undefined;
  return { path: folder, total_bytes: total, file_count: count, sample };
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (errnoOf(error) === "EACCES") return []; // an unreadable folder is not measured
    throw error;
  }
}
