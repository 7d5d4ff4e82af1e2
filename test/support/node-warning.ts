import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

// As Node prints one, with or without a code: (node:123) [DEP0040] DeprecationWarning: …
const WARNING = /^\(node:\d+\) .*Warning: .*/m;

/** Throws when Node has warned in what a process of ours printed: a listener leak and the like are bugs. */
export function withoutWarning<Run extends { readonly stderr: string }>(run: Run): Run {
  const [warning] = WARNING.exec(run.stderr) ?? [];
  if (warning !== undefined) throw new Error(`Node warned in a process that a test started: ${warning}`);
  return run;
}

/** The same for every log below a folder: that is where processes print that no test holds on to. */
export async function requireLogsWithoutWarning(folder: string): Promise<void> {
  // What goes away meanwhile, or was never there, has nothing to tell.
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith(".log")) continue;
    withoutWarning({ stderr: await readFile(join(entry.parentPath, entry.name), "utf8").catch(() => "") });
  }
}
