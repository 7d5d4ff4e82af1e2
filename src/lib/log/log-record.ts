import { LOG_LEVELS, type LogLevel } from "./log-level.ts";

/** One thing that happened, as the log keeps it. */
export interface LogRecord {
  /** ISO 8601, in UTC. */
  readonly time: string;
  readonly level: LogLevel;
  readonly pid: number;
  readonly component: string;
  readonly session?: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** What a line of a log turned out to be: a record, or text that is none (torn, or from another program). */
export type LogLine =
  | { readonly kind: "record"; readonly record: LogRecord }
  | { readonly kind: "raw"; readonly text: string };

const RECORD_START = '{"level":"';

/** Reads one line of a log; a process killed in the middle of its line has glued the next one to it. */
export function parseLogLine(line: string): LogLine[] {
  if (line.trim() === "") return [];
  const record = parseRecord(line);
  if (record !== undefined) return [{ kind: "record", record }];
  const next = line.lastIndexOf(RECORD_START);
  const glued = next > 0 ? parseRecord(line.slice(next)) : undefined;
  if (glued === undefined) return [{ kind: "raw", text: line }];
  return [
    { kind: "raw", text: line.slice(0, next) },
    { kind: "record", record: glued },
  ];
}

function parseRecord(line: string): LogRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  return isRecord(value) ? value : undefined;
}

function isRecord(value: unknown): value is LogRecord {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { time, level, pid, component, session, msg } = value as Readonly<Record<string, unknown>>;
  return (
    typeof time === "string" &&
    LOG_LEVELS.some((known) => known === level) &&
    typeof pid === "number" &&
    typeof component === "string" &&
    (session === undefined || typeof session === "string") &&
    typeof msg === "string"
  );
}
