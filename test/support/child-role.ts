import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

/** Reports to the process that started this one; synchronously, because some children are killed right afterwards. */
export function print(report: unknown): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

/** Prints the report, and waits for a line on stdin. */
export async function waitForLine(report: unknown = "ready"): Promise<void> {
  const lines = createInterface({ input: process.stdin });
  const line = new Promise((resolve) => lines.once("line", resolve));
  print(report);
  await line;
  lines.close();
}

/** Plays the role named on the command line; exits when the process that started this one exits. */
export async function playRole<Roles extends Record<string, (input: never) => Promise<void>>>(
  roles: Roles,
): Promise<never> {
  // A test that times out cannot end this process, but the process that ran the test exits.
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, 500).unref();
  const [role = "", input = "{}"] = process.argv.slice(2);
  await (roles as unknown as Record<string, (input: unknown) => Promise<void>>)[role]?.(JSON.parse(input));
  process.exit();
}
