import { LOG_LEVELS, type LogLevel } from "./log-level.ts";

/** One structured entry of the log. */
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

/** A parsed line of a log: a record, or raw text that is not a record (a torn line, or output of another program). */
export type LogLine =
  | { readonly kind: "record"; readonly record: LogRecord }
  | { readonly kind: "raw"; readonly text: string };

const RECORD_START = '{"level":"';

/** Parses one line of a log. A process that was killed while writing leaves a torn line that the next record is joined to. */
export function parseLogLine(line: string): LogLine[] {
  if (line.trim() === "") return [];
  const record = parseRecord(line);
  if (record !== undefined) return [{ kind: "record", record }];
  const next = line.lastIndexOf(RECORD_START);
  const joined = next > 0 ? parseRecord(line.slice(next)) : undefined;
  if (joined === undefined) return [{ kind: "raw", text: line }];
  return [
    { kind: "raw", text: line.slice(0, next) },
    { kind: "record", record: joined },
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
