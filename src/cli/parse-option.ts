import { InvalidArgumentError } from "commander";
import { isCalendarDate } from "../lib/time/is-calendar-date.ts";

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("Give a whole number greater than 0.");
  return Number(text);
}

export function parseCountOrZero(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("Give a whole number.");
  return Number(text);
}

/** A name or id. An empty one usually comes from a script whose variable is unset. */
export function parseName(text: string): string {
  if (text === "") throw new InvalidArgumentError("It is empty.");
  return text;
}

/** Collects the names of an argument with several values. */
export function collectNames(name: string, earlier: readonly string[] | undefined): string[] {
  return collect(parseName(name), earlier);
}

/** Milliseconds in `90s`, `30m`, `12h` or `7d`. */
export function parseAge(text: string): number {
  const age = readAge(text);
  if (Number.isNaN(age)) throw new InvalidArgumentError("Give an age such as 90s, 30m, 12h or 7d.");
  return age;
}

/** Milliseconds since 1970 for a date (`2026-01-31`) or an age before now (`2h`). */
export function parseSince(text: string): number {
  const age = readAge(text);
  const isInvalidDate = /^\d{4}-\d{2}-\d{2}/.test(text) && !isCalendarDate(text);
  const date = isInvalidDate ? Number.NaN : Date.parse(text);
  const time = Number.isNaN(age) ? date : Date.now() - age;
  if (Number.isNaN(time)) throw new InvalidArgumentError("Give a time such as 30m, 2h, 1d or 2026-01-31.");
  return time;
}

/** Milliseconds of an age such as `2h`; NaN for any other text. */
export function readAge(text: string): number {
  const [, count, unit = ""] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  return Number(count) * (UNIT_MS[unit] ?? Number.NaN);
}

/** Collects the values of a repeatable option. */
export function collect(value: string, all: readonly string[] = []): string[] {
  return [...all, value];
}
