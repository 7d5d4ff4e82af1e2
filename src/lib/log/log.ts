import type { Logger } from "pino";
import { type Clock, systemClock } from "../clock.ts";
import { redactJson } from "../redact/redact-json.ts";
import type { Redactor } from "../redact/redactor.ts";
import { headOf } from "../shorten.ts";
import { openLogFile } from "./log-file.ts";
import { isAtLeast, type LogLevel } from "./log-level.ts";
import { plainFields } from "./plain-fields.ts";
import type { LogLimits } from "./rotate-log.ts";

export type LogFields = Readonly<Record<string, unknown>>;

export interface LogBindings {
  /** The part of the program that speaks. */
  readonly component?: string;
  /** The id of the session on whose behalf it does. */
  readonly session?: string;
}

/** Where a part writes down what happened. A line is in the file when the call returns, and no call ever throws. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log for another part or a session. */
  child(bindings: LogBindings): Log;
  /** How many lines could not be written so far, by this log and all that share its files. */
  readonly lost: number;
}

export interface LogOptions extends LogLimits {
  readonly folder: string;
  readonly redactor: Redactor;
  /** The least important lines that `agent.log` keeps; `errors.log` keeps warnings and errors in any case. */
  readonly level: LogLevel;
  readonly component: string;
  readonly clock?: Pick<Clock, "now">;
}

const RESERVED = new Set(["level", "time", "pid", "component", "session", "msg"]);

const LONGEST_TEXT = 16_384;
const LONGEST_READ = 16 * LONGEST_TEXT;
const LONGEST_SECRET = 4_096;

/** Opens the logs of a folder. Lines are redacted; disposing closes the files, and lines after that are lost. */
export async function openLog(options: LogOptions): Promise<Log & Disposable> {
  const { folder, redactor, level: least, component, clock = systemClock } = options;
  const { default: pino } = await import("pino"); // loaded by whoever logs, not by whoever might
  const everything = openLogFile(folder, "agent", options);
  const errors = openLogFile(folder, "errors", options);
  const redact = (text: string) => redactAndCut(text, redactor);
  let lost = 0;

  const write = (line: string) => {
    const { level, time, pid, ...said }: { level: LogLevel; [field: string]: unknown } = JSON.parse(line);
    // Last of all and text by text, so that nothing slips by and the line stays JSON.
    const safe = redactJson(said, redact) as object;
    const safeLine = `${JSON.stringify({ level, time, pid, ...safe })}\n`;
    const isKept = !isAtLeast(level, least) || everything.append(safeLine);
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
          lost += 1; // fields with a getter that throws, or nested without end
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
      level: isAtLeast(least, "warn") ? "warn" : least,
      base: { pid: process.pid, component },
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }), log: nameApart },
      serializers: { err: (value: unknown) => value }, // plainFields has seen to it
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

/** The fields of a line, under names that do not hide its own. */
function nameApart(fields: object): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, value]) => [
    RESERVED.has(name) ? `${name}_` : name,
    plainFields(value),
  ]);
  return Object.fromEntries(entries);
}

/** Redacts a text and keeps its beginning; the end of a huge one is not even looked at, since the program waits. */
function redactAndCut(text: string, redactor: Redactor): string {
  const redacted = redactor.redact(text.slice(0, LONGEST_READ));
  // Where reading stopped, half a secret may stand that nobody recognised.
  const isSafe = text.length <= LONGEST_READ;
  const kept = isSafe ? redacted : redacted.slice(0, -LONGEST_SECRET);
  if (isSafe && kept.length <= LONGEST_TEXT) return kept;
  return `${headOf(kept, LONGEST_TEXT)}… (${text.length} characters)`;
}
