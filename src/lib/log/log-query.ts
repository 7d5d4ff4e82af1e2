import { isAtLeast, type LogLevel } from "./log-level.ts";
import type { LogName } from "./log-path.ts";
import type { LogLine } from "./log-record.ts";

/** Which lines of a log are wanted; all conditions must hold. */
export interface LogQuery {
  readonly file: LogName;
  /** How many of the last lines that match. */
  readonly lines: number;
  readonly level?: LogLevel | undefined;
  readonly session?: string | undefined;
  readonly component?: string | undefined;
  readonly since?: Date | undefined;
}

/** True when a line is wanted; text that is no record has nothing to be asked about and only matches no condition. */
export function matchesQuery(line: LogLine, { level, session, component, since }: LogQuery): boolean {
  if (line.kind === "raw")
    return [level, session, component, since].every((condition) => condition === undefined);
  const { record } = line;
  return (
    (level === undefined || isAtLeast(record.level, level)) &&
    (session === undefined || record.session === session) &&
    (component === undefined || record.component === component) &&
    (since === undefined || Date.parse(record.time) >= since.getTime())
  );
}
