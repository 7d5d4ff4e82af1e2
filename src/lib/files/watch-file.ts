import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { WakeFlag } from "../time/wake-flag.ts";

/** Touches whenever a file, or one whose name begins with its name such as the log of a database, is written; undefined when the system has no watches left. */
export function watchFile(path: string, touched: WakeFlag): FSWatcher | undefined {
  const name = basename(path);
  try {
    const watcher = watch(dirname(path), (_, file) => {
      if (file === null || file.startsWith(name)) touched.touch();
    });
    watcher.on("error", () => touched.markBroken()); // switches to polling
    return watcher;
  } catch {
    return undefined; // polling replaces the watch
  }
}
