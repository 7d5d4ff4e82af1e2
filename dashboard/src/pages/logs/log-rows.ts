import type { LogAnswer, LogFilter, LogLine, LogLines } from "../../../../src/api/contract/logs.ts";
import { fits } from "./log-search.ts";

/** A line, or a note that lines are missing here. */
export type LogRow = LogLine | { readonly skipped: number; readonly key: string };

/** The rows of the page, oldest first. */
export interface LogRows {
  readonly rows: readonly LogRow[];
  /** For the next older page; null if there is none or the page is full. */
  readonly older: string | null;
  /** What the page has read of each file: lines of the stream that end before it are known. */
  readonly ends: Readonly<Record<string, number>>;
  /** How many rows were dropped at the top. */
  readonly dropped: number;
}

/** More rows would make the page slow. */
export const MAX_ROWS = 5_000;

export const keyOf = (row: LogRow): string =>
  "skipped" in row ? row.key : `${row.file}@${row.end} ${row.text.length}`;

export const openRows = ({ lines, older, ends }: LogAnswer): LogRows => ({
  rows: lines,
  older,
  ends,
  dropped: 0,
});

/** Appends new lines that the page does not have yet; drops the oldest rows above the maximum. */
export function appendLines(rows: LogRows, { lines, skipped }: LogLines, filter: LogFilter): LogRows {
  const added: LogRow[] = [];
  const ends = { ...rows.ends };
  const [first] = lines;
  if (skipped > 0 && first !== undefined) added.push({ skipped, key: `before ${first.file}@${first.end}` });
  for (const line of lines) {
    if (line.end <= (rows.ends[line.file] ?? 0)) continue;
    ends[line.file] = Math.max(ends[line.file] ?? 0, line.end);
    if (fits(line, filter)) added.push(line);
  }
  if (added.length === 0) return { ...rows, ends };
  const all = [...rows.rows, ...added];
  const excess = Math.max(0, all.length - MAX_ROWS);
  return {
    rows: excess === 0 ? all : all.slice(excess),
    older: excess === 0 ? rows.older : null,
    ends,
    dropped: rows.dropped + excess,
  };
}

/** Prepends an older page. */
export function prependPage(rows: LogRows, page: LogAnswer): LogRows {
  const room = MAX_ROWS - rows.rows.length;
  const lines = page.lines.slice(Math.max(0, page.lines.length - room));
  return {
    ...rows,
    rows: [...lines, ...rows.rows],
    older: lines.length < page.lines.length ? null : page.older,
  };
}
