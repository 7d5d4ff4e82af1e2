import { lstat, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { errnoOf } from "../../lib/errors.ts";

const WORTH_TELLING = 1_024;
const SAMPLE = 10;
const MOST_FILES = 20_000; // beyond this the numbers are lower bounds

/** What an event can say about files that go with a workspace and that nobody declared. */
export interface Leftovers {
  readonly path: string;
  readonly total_bytes: number;
  readonly file_count: number;
  /** The largest ones. */
  readonly sample: readonly { readonly file: string; readonly bytes: number }[];
}

/** The undeclared files of a folder when they are more than 1 KiB together; no link is followed. */
export async function measureLeftovers(
  folder: string,
  declared: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Leftovers | undefined> {
  let total = 0;
  let count = 0;
  let sample: { readonly file: string; readonly bytes: number }[] = [];
  const folders = [folder];
  for (let at = 0; at < folders.length && count < MOST_FILES; at++) {
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
      sample = [...sample, { file, bytes }].toSorted((a, b) => b.bytes - a.bytes).slice(0, SAMPLE);
    }
  }
  return total <= WORTH_TELLING ? undefined : { path: folder, total_bytes: total, file_count: count, sample };
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (errnoOf(error) === "EACCES") return []; // what cannot be read cannot be told of
    throw error;
  }
}
