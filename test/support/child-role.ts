import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

/** Reports to whoever started this process; at once, because some of us are killed right after. */
export function say(report: unknown): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

/** Reports, and waits until it is told to go on. */
export async function go(report: unknown = "ready"): Promise<void> {
  const lines = createInterface({ input: process.stdin });
  const told = new Promise((resolve) => lines.once("line", resolve));
  say(report);
  await told;
  lines.close();
}

/** Plays the role that the command line names, and ends with whoever started us. */
export async function playRole<Roles extends Record<string, (input: never) => Promise<void>>>(
  roles: Roles,
): Promise<never> {
  // A test that times out cannot end us, but the process that ran it ends.
  const starter = process.ppid;
  setInterval(() => {
    if (process.ppid !== starter) process.exit(1);
  }, 500).unref();
  const [role = "", input = "{}"] = process.argv.slice(2);
  await (roles as unknown as Record<string, (input: unknown) => Promise<void>>)[role]?.(JSON.parse(input));
  process.exit();
}
