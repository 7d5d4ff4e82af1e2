import type { TargetPath } from "../../environment.ts";

/** What is looked for; whatever is left out has the value that most callers want. */
export interface SearchQuery {
  /** In what files hold, by a regular expression, or in their names, by a glob. */
  readonly target: "content" | "files";
  readonly pattern: string;
  /** A folder, or one file. */
  readonly path: TargetPath;
  /** Take the pattern as plain text. */
  readonly literal?: boolean | undefined;
  readonly ignoreCase?: boolean | undefined;
  /** Only files whose name fits, or whose path below the folder does if the glob has a slash. */
  readonly glob?: string | undefined;
  /** Lines shown around each match; at most 20. */
  readonly contextLines?: number | undefined;
  /** Lines with their text, only the names of their files, or how many lines match in each file. */
  readonly output?: "content" | "files_only" | "count" | undefined;
  /** How many results; 50 unless given, at most 1,000. */
  readonly limit?: number | undefined;
  /** How many results to leave out first. */
  readonly offset?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

export type SearchOutput = "content" | "files_only" | "count" | "names";

/** A query with every value in its bounds. */
export interface SearchPlan {
  readonly output: SearchOutput;
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  readonly globs: readonly string[];
  readonly contextLines: number;
  readonly limit: number;
  readonly offset: number;
  readonly timeoutMs: number;
}

const LIMIT = 50;
const MOST_RESULTS = 1_000;
const MOST_CONTEXT = 20;
const MOST_OFFSET = 1_000_000;
const TIMEOUT_MS = 60_000;

export function planSearch(query: SearchQuery): SearchPlan {
  const { target, pattern, glob, output = "content" } = query;
  const isByName = target === "files";
  return {
    output: isByName ? "names" : output,
    pattern,
    literal: query.literal ?? false,
    ignoreCase: query.ignoreCase ?? false,
    globs: [...(isByName ? [pattern] : []), ...(glob === undefined ? [] : [glob])].filter(
      (text) => text !== "",
    ),
    contextLines: output === "content" ? within(query.contextLines ?? 0, 0, MOST_CONTEXT) : 0,
    limit: within(query.limit ?? LIMIT, 1, MOST_RESULTS),
    offset: within(query.offset ?? 0, 0, MOST_OFFSET),
    timeoutMs: Math.max(1, query.timeoutMs ?? TIMEOUT_MS),
  };
}

function within(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(most, Math.max(least, Math.trunc(value))) : least;
}
