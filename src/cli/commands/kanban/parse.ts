import { readFile } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { InvalidArgumentError } from "commander";
import type { WorkspaceKind } from "../../../board/task.ts";
import { AppError, messageOf } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { readStandardInput } from "../../read-standard-input.ts";

const UNIT_SECONDS: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds in `300`, `90s`, `30m`, `2h` or `1d`. */
export function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,9})([smhd]?)$/.exec(text.trim()) ?? [];
  const seconds = Number(count) * (UNIT_SECONDS[unit ?? "?"] ?? Number.NaN);
  if (!(seconds > 0)) throw new InvalidArgumentError("Give a duration such as 300, 90s, 30m, 2h or 1d.");
  return seconds;
}

const ISO = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** Milliseconds since 1970 of an ISO time; one without a zone is local. */
export function parseTime(text: string): number {
  const time = ISO.test(text.trim()) ? Date.parse(text.trim()) : Number.NaN;
  if (Number.isNaN(time))
    throw new InvalidArgumentError(
      "Give a time such as 2026-01-31, 2026-01-31T09:30 or 2026-01-31T09:30:00Z.",
    );
  return time;
}

export function parseWhole(text: string): number {
  if (!/^[+-]?\d{1,10}$/.test(text)) throw new InvalidArgumentError("Give a whole number.");
  return Number(text);
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("Give a whole number greater than 0.");
  return Number(text);
}

export function parseDays(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError("Give a whole number of days.");
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
    throw new InvalidArgumentError(`That is not JSON: ${messageOf(error)}`);
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
  if (!isAbsolute(workspacePath)) throw new InvalidArgumentError("Give the whole path, from / on.");
  return { workspaceKind, workspacePath };
}

export function collect(value: string, all: readonly string[] = []): string[] {
  return [...all, value];
}

const MOST_BYTES = 256 * 1024 * 1024; // an export of a large board is far below

/** The text of a file, or of standard input for `-`. */
export async function readText(path: string, { terminal, signal }: CommandContext): Promise<string> {
  try {
    return path === "-"
      ? await readStandardInput({ mostBytes: MOST_BYTES, terminal }, signal)
      : await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("file-unreadable", `Cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
}
