import { join } from "node:path";

/** The logs of a folder: everything from the set level on, and what went wrong. */
export type LogName = "agent" | "errors";

/** Where a log lies; generation 0 is being written, 1 is the one rotated last. */
export function logPath(folder: string, log: LogName, generation = 0): string {
  return join(folder, `${log}.log${generation === 0 ? "" : `.${generation}`}`);
}
