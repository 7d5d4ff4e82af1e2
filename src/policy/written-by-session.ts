import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** A longer file is unlikely to be a script that an agent has just written. */
const MAX_SCRIPT_BYTES = 256 * 1024;
/** Older files are forgotten, so that a long session stays small. */
const MAX_FILES = 2_000;

/** The files that calls of one session have written. When a later call runs one of them, its content is inspected. */
export interface WrittenFiles {
  add(paths: readonly string[]): void;
  /** The content of a file that the session has written; undefined for other files, for binary files and for long ones. */
  contentOf(path: string): string | undefined;
}

/** For files on this machine. `past` lists the files of earlier processes of the session; it is called on the first use. */
export function createWrittenFiles(past: () => readonly string[]): WrittenFiles {
  let written: Set<string> | undefined;
  const known = (): Set<string> => {
    written ??= new Set(past());
    return written;
  };
  return {
    add(paths) {
      for (const path of paths) {
        known().delete(path); // a path that is written again counts as new
        known().add(path);
      }
      for (const path of known()) {
        if (known().size <= MAX_FILES) break;
        known().delete(path);
      }
    },
    contentOf: (path) => (known().has(path) ? readShortText(path) : undefined),
  };
}

/** Synchronous like the steps that use it; a decision reads a few small files at most. */
function readShortText(path: string): string | undefined {
  let descriptor: number | undefined;
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > MAX_SCRIPT_BYTES) return undefined;
    const { size } = stats;
    const buffer = Buffer.alloc(size);
    const text = buffer.toString("utf8", 0, readSync(descriptor, buffer, 0, size, 0));
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined; // the file was removed, is a folder, or may not be read: the command will fail too
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
