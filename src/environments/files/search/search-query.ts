import type { TargetPath } from "../../environment.ts";

/** A search request; optional fields have defaults. */
export interface SearchQuery {
  /** `content`: search file contents by a regular expression. `files`: search file names by a glob. */
  readonly target: "content" | "files";
  readonly pattern: string;
  /** A folder, or one file. */
  readonly path: TargetPath;
  /** Treat the pattern as plain text. */
  readonly literal?: boolean | undefined;
  readonly ignoreCase?: boolean | undefined;
  /** Only files whose name matches; a glob with a slash is matched against the path below the folder. */
  readonly glob?: string | undefined;
  /** Lines shown around each match; at most 20. */
  readonly contextLines?: number | undefined;
  /** Matching lines, only the names of their files, or the number of matching lines per file. */
  readonly output?: "content" | "files_only" | "count" | undefined;
  /** The number of results; default 50, at most 1,000. */
  readonly limit?: number | undefined;
  /** The number of results to skip. */
  readonly offset?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

export type SearchOutput = "content" | "files_only" | "count" | "names";

/** A query with all defaults applied and all values clamped to their bounds. */
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

const DEFAULT_LIMIT = 50;
const MAX_RESULTS = 1_000;
const MAX_CONTEXT_LINES = 20;
const MAX_OFFSET = 1_000_000;
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
    contextLines: output === "content" ? clamp(query.contextLines ?? 0, 0, MAX_CONTEXT_LINES) : 0,
    limit: clamp(query.limit ?? DEFAULT_LIMIT, 1, MAX_RESULTS),
    offset: clamp(query.offset ?? 0, 0, MAX_OFFSET),
    timeoutMs: Math.max(1, query.timeoutMs ?? TIMEOUT_MS),
  };
}

function clamp(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(most, Math.max(least, Math.trunc(value))) : least;
}
