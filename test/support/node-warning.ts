import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

// A warning as Node prints it, with or without a code: (node:123) [DEP0040] DeprecationWarning: …
const WARNING = /^\(node:\d+\) .*Warning: .*/m;

/** Throws if the output of a process contains a Node warning: a listener leak, for example, is a bug. */
export function withoutWarning<Run extends { readonly stderr: string }>(run: Run): Run {
  const [warning] = WARNING.exec(run.stderr) ?? [];
  if (warning !== undefined) throw new Error(`Node warned in a process that a test started: ${warning}`);
  return run;
}

/** The same for every log below a folder, which contains the output of processes that no test reads. */
export async function requireLogsWithoutWarning(folder: string): Promise<void> {
  // The folder may not exist, or may be removed meanwhile.
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith(".log")) continue;
    withoutWarning({ stderr: await readFile(join(entry.parentPath, entry.name), "utf8").catch(() => "") });
  }
}
