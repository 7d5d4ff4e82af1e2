/** Numbers, amounts and times as the language of the page writes them. */

import { type Language, language } from "./language.ts";

const LOCALES: Readonly<Record<Language, { readonly numbers: string; readonly dates: string }>> = {
  en: { numbers: "en-US", dates: "en-GB" }, // days before months
  de: { numbers: "de-DE", dates: "de-DE" },
};
const { numbers: LOCALE, dates: DATES } = LOCALES[language];
const whole = new Intl.NumberFormat(LOCALE);
const tenths = new Intl.NumberFormat(LOCALE, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const dollars = new Intl.NumberFormat(LOCALE, { style: "currency", currency: "USD" });
const wholeDollars = new Intl.NumberFormat(LOCALE, {
  ...{ style: "currency", currency: "USD", maximumFractionDigits: 0 },
});
const plural = new Intl.PluralRules(LOCALE);
const clock = new Intl.DateTimeFormat(DATES, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const seconds = new Intl.DateTimeFormat(DATES, { timeStyle: "medium", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(DATES, { day: "numeric", month: "short" });
const exact = new Intl.DateTimeFormat(DATES, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });

const DAYS: Readonly<Record<Language, string>> = { en: "d", de: "Tg." };
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "1,204" */
export const number = (value: number): string => whole.format(value);

/** A number with the matching form of a word: "1 task", "3 tasks". */
export const counted = (value: number, one: string, many: string): string =>
  `${number(value)} ${plural.select(value) === "one" ? one : many}`;

/** The form of a word for a number, without the number. */
export const inflected = (value: number, one: string, many: string): string =>
  plural.select(value) === "one" ? one : many;

/** "$0.61"; below a cent "<$0.01". */
export const money = (usd: number): string =>
  usd > 0 && usd < 0.01 ? `<${dollars.format(0.01)}` : dollars.format(usd);

/** Money without zero cents, for limits: "$5". */
export const roundMoney = (usd: number): string =>
  Math.round(usd * 100) % 100 === 0 ? wholeDollars.format(usd) : money(usd);

/** "182 k" tokens. */
export function amount(tokens: number): string {
  if (tokens < 1_000) return number(tokens);
  if (tokens < 1_000_000) return `${Math.round(tokens / 1_000)} k`;
  return `${tenths.format(tokens / 1_000_000)} M`;
}

/** "1.3 GB" */
export function size(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1_000 ** step;
  return `${value >= 10 || step === 0 ? Math.round(value) : tenths.format(value)} ${units[step]}`;
}

/** "14:08", "1:02:11": how long something has been running. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / SECOND));
  const two = (value: number): string => String(value).padStart(2, "0");
  const hours = Math.floor(seconds / 3_600);
  const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}

/** How long something took: "40 ms", "2.4 s", "3 min". */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  return ms < 10 * SECOND ? `${tenths.format(ms / SECOND)} s` : span(ms);
}

/** "4 s", "12 min", "3 h", "2 d" */
export function span(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} ${DAYS[language]}`;
}

/** The time of day for today, else the day. */
export function when(at: number, now: number): string {
  return new Date(at).toDateString() === new Date(now).toDateString() ? clock.format(at) : day.format(at);
}

/** A time in a log: with the seconds for today, else with the day. */
export function logTime(at: number): string {
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  return isToday ? seconds.format(at) : `${day.format(at)} ${clock.format(at)}`;
}

export const timeOfDay = (at: number): string => clock.format(at);
export const dayOf = (at: number): string => day.format(at);
export const exactTime = (at: number): string => exact.format(at);

/** Words with commas and "and". */
export const joined = (items: readonly string[]): string =>
  new Intl.ListFormat(LOCALE, { type: "conjunction" }).format(items);
