import { join } from "node:path";

/**
 * The logs of a folder: `agent` has all lines from the configured level up, `errors` has warnings and errors, `dashboard-audit`
 * what people did in the dashboard.
 */
export type LogName = "agent" | "errors" | "dashboard-audit";

/** Path of a log file. Generation 0 is being written; 1 is the most recently rotated. */
export function logPath(folder: string, log: LogName, generation = 0): string {
  return join(folder, `${log}.log${generation === 0 ? "" : `.${generation}`}`);
}
