import { readFile } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { InvalidArgumentError } from "commander";
import type { WorkspaceKind } from "../../../board/task.ts";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { isCalendarDate } from "../../../lib/time/is-calendar-date.ts";
import type { CommandContext } from "../../context.ts";
import { readAge } from "../../parse-option.ts";
import { readStandardInputBytes } from "../../terminal/read-standard-input.ts";

/** Seconds in `300`, `90s`, `30m`, `2h` or `1d`. */
export function parseDuration(text: string): number {
  const isBare = /^\d{1,9}$/.test(text.trim());
  const seconds = readAge(isBare ? `${text.trim()}s` : text.trim()) / 1_000;
  if (!(Number.isInteger(seconds) && seconds > 0))
    throw new InvalidArgumentError("Give a duration such as 300, 90s, 30m, 2h or 1d.");
  return seconds;
}

const ISO = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** Milliseconds since 1970 of an ISO time; local time if it has no zone. */
export function parseTime(text: string): number {
  const isValid = ISO.test(text.trim()) && isCalendarDate(text.trim());
  const time = isValid ? Date.parse(text.trim()) : Number.NaN;
  if (Number.isNaN(time))
    throw new InvalidArgumentError(
      "Give a time such as 2026-01-31, 2026-01-31T09:30 or 2026-01-31T09:30:00Z.",
    );
  return time;
}

export function parseWhole(text: string): number {
  if (!/^[+-]?\d{1,10}$/.test(text))
    throw new InvalidArgumentError("Give a whole number of at most 10 digits.");
  return Number(text);
}

/** Milliseconds of a number of seconds such as `0.5`. */
export function parseInterval(text: string): number {
  const seconds = /^\d{1,6}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds >= 0.05)) throw new InvalidArgumentError("Give seconds, at least 0.05.");
  return Math.round(seconds * 1_000);
}

export function parseObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`Not valid JSON: ${messageOf(error)}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new InvalidArgumentError("Give a JSON object such as '{\"tests\": 12}'.");
}

export interface WorkspaceChoice {
  readonly workspaceKind: WorkspaceKind;
  readonly workspacePath?: string;
}

/** `scratch`, `worktree`, `worktree:PATH` or `dir:PATH`. */
export function parseWorkspace(text: string): WorkspaceChoice {
  if (!/^(scratch|worktree|(worktree|dir):[\s\S]+)$/.test(text))
    throw new InvalidArgumentError("Write scratch, worktree, worktree:PATH or dir:PATH.");
  const [kind = "", ...rest] = text.split(":");
  const workspaceKind = kind as WorkspaceKind;
  if (rest.length === 0) return { workspaceKind };
  const workspacePath = rest.join(":");
  if (!isAbsolute(workspacePath)) throw new InvalidArgumentError("Give an absolute path.");
  return { workspaceKind, workspacePath };
}

/** The options that describe the result of a task. */
export interface ResultOptions {
  readonly result?: string;
  readonly summary?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface BodyOptions {
  readonly body?: string;
  readonly bodyFile?: string;
}

/** The text of `--body` or `--body-file`, if one of them was given. */
export async function readBody(
  { body, bodyFile }: BodyOptions,
  context: CommandContext,
): Promise<string | undefined> {
  return bodyFile === undefined ? body : readText(bodyFile, context);
}

const MAX_BYTES = 256 * 1024 * 1024; // far above the export of a large board

/** The text of a file, or of standard input for `-`. Throws if it is not UTF-8 or contains NUL, which no board can store. */
export async function readText(path: string, context: CommandContext): Promise<string> {
  const bytes = await readBytes(path, context);
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  const what = path === "-" ? "Standard input" : path;
  throw new AppError("file-unreadable", `${what} is not UTF-8 text.`, {
    hint: "Convert it to UTF-8, for instance with iconv, or attach the file: `hermes kanban attach TASK FILE`.",
  });
}

async function readBytes(path: string, { terminal, signal }: CommandContext): Promise<Uint8Array> {
  try {
    return path === "-"
      ? await readStandardInputBytes({ maxBytes: MAX_BYTES, terminal }, signal)
      : await readFile(path);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("file-unreadable", `Cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
}
