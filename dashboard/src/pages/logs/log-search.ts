import type { LogFile, LogFilter, LogLevelName, LogLine } from "../../../../src/api/contract/logs.ts";

/** What the page shows of the logs, which is part of the address. */
export interface LogSearch {
  readonly file?: LogFile | undefined;
  readonly level?: LogLevelName | undefined;
  readonly component?: string | undefined;
  readonly session?: string | undefined;
  readonly since?: LogPeriod | undefined;
  readonly q?: string | undefined;
}

export type LogPeriod = "hour" | "day" | "week";

export const LEVELS: readonly LogLevelName[] = ["debug", "info", "warn", "error"];
const PERIODS: Readonly<Record<LogPeriod, number>> = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 };

export function readLogSearch(search: Readonly<Record<string, unknown>>): LogSearch {
  const text = (name: "component" | "session" | "q") => {
    const value = search[name];
    return value === undefined || value === "" || typeof value === "object" ? {} : { [name]: String(value) };
  };
  const level = LEVELS.find((known) => known === search["level"]);
  const since = (Object.keys(PERIODS) as LogPeriod[]).find((known) => known === search["since"]);
  return {
    ...(search["file"] === "errors" ? { file: "errors" } : {}),
    ...(level === undefined ? {} : { level }),
    ...text("component"),
    ...text("session"),
    ...(since === undefined ? {} : { since }),
    ...text("q"),
  };
}

/** The filter of the server at a time. */
export function toFilter({ level, component, session, since, q }: LogSearch, now: number): LogFilter {
  return {
    ...(level === undefined ? {} : { level }),
    ...(component === undefined ? {} : { component }),
    ...(session === undefined ? {} : { session }),
    ...(since === undefined ? {} : { since: now - PERIODS[since] }),
    ...(q === undefined ? {} : { q }),
  };
}

/** Whether a new line meets the filter, by the rules of the server. */
export function fits(line: LogLine, { level, component, session, since, q }: LogFilter): boolean {
  if (level !== undefined && (line.level === null || LEVELS.indexOf(line.level) < LEVELS.indexOf(level)))
    return false;
  if (component !== undefined && line.component !== component) return false;
  if (session !== undefined && line.session !== session) return false;
  if (since !== undefined && (line.at === null || line.at < since)) return false;
  if (q === undefined) return true;
  const text = `${line.component} ${line.session ?? ""} ${line.text} ${line.details}`;
  return text.toLowerCase().includes(q.toLowerCase());
}
