import type { Logger } from "pino";
import { redactJson } from "../redact/redact-json.ts";
import type { Redactor } from "../redact/redactor.ts";
import { headOf } from "../text/shorten.ts";
import { type Clock, systemClock } from "../time/clock.ts";
import { openLogFile } from "./log-file.ts";
import { isAtLeast, type LogLevel } from "./log-level.ts";
import type { LogLimits } from "./rotate-log.ts";

export type LogFields = Readonly<Record<string, unknown>>;

export interface LogBindings {
  /** The part of the program that writes the line. */
  readonly component?: string;
  readonly session?: string;
}

/** Writes log lines. Each call writes synchronously and never throws. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log with another component or session. */
  child(bindings: LogBindings): Log;
  /** Number of lines that could not be written, including those of child logs. */
  readonly lost: number;
}

export interface LogOptions extends LogLimits {
  readonly folder: string;
  readonly redactor: Redactor;
  /** Minimum level of `agent.log`; `errors.log` always contains warnings and errors. */
  readonly level: LogLevel;
  readonly component: string;
  readonly clock?: Pick<Clock, "now">;
}

const RESERVED = new Set(["level", "time", "pid", "component", "session", "msg"]);

const MAX_TEXT_LENGTH = 16_384;
const SCAN_LIMIT = 16 * MAX_TEXT_LENGTH;
const MAX_SECRET_LENGTH = 4_096;

/** Opens the logs of a folder. Lines are redacted. Disposing closes the files; later lines are lost. */
export async function openLog(options: LogOptions): Promise<Log & Disposable> {
  const { folder, redactor, level: minLevel, component, clock = systemClock } = options;
  const { default: pino } = await import("pino"); // loaded here, so that a command that opens no log does not pay for it
  const everything = openLogFile(folder, "agent", options);
  const errors = openLogFile(folder, "errors", options);
  const redact = (text: string) => redactAndCut(text, redactor);
  let lost = 0;

  const write = (line: string) => {
    const { level, time, pid, ...content }: { level: LogLevel; [field: string]: unknown } = JSON.parse(line);
    // Redact as the last step and string by string, so that no field is missed and the line stays valid JSON.
    const safe = redactJson(content, redact) as object;
    const safeLine = `${JSON.stringify({ level, time, pid, ...safe })}\n`;
    const isKept = !isAtLeast(level, minLevel) || everything.append(safeLine);
    const isKeptAsError = !isAtLeast(level, "warn") || errors.append(safeLine);
    if (!isKept || !isKeptAsError) lost += 1;
  };

  const wrap = (logger: Logger): Log => {
    const at =
      (level: LogLevel) =>
      (message: string, fields: LogFields = {}) => {
        try {
          logger[level](fields, message);
        } catch {
          lost += 1; // for instance a getter that throws, or endless nesting
        }
      };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      child: (bindings) => wrap(logger.child(bindings)),
      get lost() {
        return lost;
      },
    };
  };

  const logger = pino(
    {
      level: isAtLeast(minLevel, "warn") ? "warn" : minLevel,
      base: { pid: process.pid, component },
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }), log: renameReserved },
      serializers: { err: (value: unknown) => value }, // plainFields has already converted errors
    },
    { write },
  );
  return Object.assign(wrap(logger), {
    [Symbol.dispose]() {
      everything[Symbol.dispose]();
      errors[Symbol.dispose]();
    },
  });
}

/** Renames fields whose names are reserved (`level` becomes `level_`). */
function renameReserved(fields: object): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, value]) => [
    RESERVED.has(name) ? `${name}_` : name,
    expandErrors(value),
  ]);
  return Object.fromEntries(entries);
}

/** Redacts a text and truncates it. The end of a huge text is not scanned, because the write is synchronous. */
function redactAndCut(text: string, redactor: Redactor): string {
  const redacted = redactor.redact(text.slice(0, SCAN_LIMIT));
  // A secret that was cut at the scan limit is not recognised, so the last characters before the limit are dropped.
  const isFullyScanned = text.length <= SCAN_LIMIT;
  const kept = isFullyScanned ? redacted : redacted.slice(0, -MAX_SECRET_LENGTH);
  if (isFullyScanned && kept.length <= MAX_TEXT_LENGTH) return kept;
  return `${headOf(kept, MAX_TEXT_LENGTH)}… (${text.length} characters)`;
}

const MAX_DEPTH = 8;
const MAX_ERRORS = 20;

/** Prepares a value for JSON: replaces each error with an object with its message, code, stack and causes. */
function expandErrors(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (value instanceof Error) return plainError(value, depth);
  if (Array.isArray(value)) return value.map((item) => expandErrors(item, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, expandErrors(item, depth + 1)]),
  );
}

function plainError(error: Error, depth: number): object {
  const { name, message, stack, cause } = error;
  const code = "code" in error ? error.code : undefined;
  const errors = error instanceof AggregateError ? error.errors.slice(0, MAX_ERRORS) : undefined;
  return {
    name,
    message,
    ...(code === undefined ? {} : { code }),
    stack,
    ...(cause === undefined ? {} : { cause: expandErrors(cause, depth + 1) }),
    ...(errors === undefined ? {} : { errors: expandErrors(errors, depth + 1) }),
  };
}
