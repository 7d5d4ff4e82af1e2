import { headOf } from "../../../lib/shorten.ts";
import type { SearchRecord } from "./record-parser.ts";
import type { SearchPlan } from "./search-query.ts";

export const SHOWN_CHARS = 500;

export interface SearchLine {
  /** Relative to the folder that was searched. */
  readonly path: string;
  readonly line: number;
  readonly text: string;
  /** False for a line that only stands near one. */
  readonly isMatch: boolean;
  /** More of the line is there than is shown. */
  readonly isCut: boolean;
}

export interface FileCount {
  readonly path: string;
  readonly count: number;
}

/** The results of one page, gathered as records come. */
export interface Collector {
  readonly lines: readonly SearchLine[];
  readonly files: readonly string[];
  readonly counts: readonly FileCount[];
  /** Something was found beyond the page. */
  readonly hasMore: boolean;
  take(record: SearchRecord): void;
}

/** Keeps one page and nothing else, however much is found before or after it. */
export function createCollector(plan: SearchPlan): Collector {
  const { offset, limit, contextLines, output } = plan;
  const lines: SearchLine[] = [];
  const files: string[] = [];
  const counts: FileCount[] = [];
  let before: SearchLine[] = []; // near a match that may come
  let last: SearchLine | undefined; // the match shown last
  let seen = 0;
  let hasMore = false;

  /** Whether the next result belongs to the page. */
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
    get hasMore() {
      return hasMore;
    },
    take({ path, rest }) {
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

/** What rg puts where it cut. */
const OMITTED = / \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$/;

function parseLine(path: string, rest: string): SearchLine | undefined {
  const parts = /^(\d+)([:-])([\s\S]*)$/.exec(rest);
  if (parts === null) return undefined;
  const whole = (parts[3] ?? "").replace(/\r$/, "");
  const own = whole.length > SHOWN_CHARS ? whole.replace(OMITTED, "") : whole;
  const text = headOf(own, SHOWN_CHARS);
  return { path, line: Number(parts[1]), text, isMatch: parts[2] === ":", isCut: text.length < whole.length };
}
