import { headOf } from "../../../lib/text/shorten.ts";
import type { SearchRecord } from "./record-parser.ts";
import type { SearchPlan } from "./search-query.ts";

export const SHOWN_CHARS = 500;

export interface SearchLine {
  /** Relative to the searched folder. */
  readonly path: string;
  readonly line: number;
  readonly text: string;
  /** False for a context line. */
  readonly isMatch: boolean;
  /** The line is longer than `text`. */
  readonly isCut: boolean;
}

export interface FileCount {
  readonly path: string;
  readonly count: number;
}

/** Collects the results of one page from a stream of records, however many results precede or follow it. */
export function createCollector(plan: SearchPlan) {
  const { offset, limit, contextLines, output } = plan;
  const lines: SearchLine[] = [];
  const files: string[] = [];
  const counts: FileCount[] = [];
  let before: SearchLine[] = []; // context of a possible next match
  let last: SearchLine | undefined; // the last match on the page
  let seen = 0;
  let hasMore = false;

  /** Counts a result and returns whether it belongs to the page. */
  const count = (): boolean => {
    seen++;
    if (seen > offset + limit) hasMore = true;
    return seen > offset && !hasMore;
  };
  const isNear = (one: SearchLine, other: SearchLine | undefined): boolean =>
    other?.path === one.path && Math.abs(other.line - one.line) <= contextLines;
  const takeLine = (line: SearchLine): void => {
    if (!line.isMatch) {
      if (isNear(line, last)) lines.push(line);
      else before = [...before, line].slice(-contextLines);
    } else if (count()) {
      lines.push(...before.filter((other) => isNear(other, line)), line);
      before = [];
      last = line;
    } else before = [];
  };

  return {
    lines,
    files,
    counts,
    /** There are results after this page. */
    get hasMore(): boolean {
      return hasMore;
    },
    take({ path, rest }: SearchRecord): void {
      if (hasMore) return;
      if (output === "names" || output === "files_only") {
        if (count()) files.push(path);
      } else if (output === "count") {
        const number = Number(rest);
        if (number > 0 && count()) counts.push({ path, count: number });
      } else {
        const line = parseLine(path, rest ?? "");
        if (line !== undefined) takeLine(line);
      }
    },
  };
}

/** The suffix of lines that rg has cut. */
const OMITTED = / \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$/;

function parseLine(path: string, rest: string): SearchLine | undefined {
  const parts = /^(\d+)([:-])([\s\S]*)$/.exec(rest);
  if (parts === null) return undefined;
  const whole = (parts[3] ?? "").replace(/\r$/, "");
  const own = whole.length > SHOWN_CHARS ? whole.replace(OMITTED, "") : whole;
  const text = headOf(own, SHOWN_CHARS);
  return { path, line: Number(parts[1]), text, isMatch: parts[2] === ":", isCut: text.length < whole.length };
}
