import { shorten } from "../../../lib/text/shorten.ts";
import type { TargetPath } from "../../environment.ts";
import { createFileProblem, type FileProblem } from "../file-problem.ts";
import type { RunFileScript } from "../run-file-script.ts";
import { createCollector, type FileCount, type SearchLine } from "./line-collector.ts";
import { createRecordParser } from "./record-parser.ts";
import { planSearch, type SearchQuery } from "./search-query.ts";
import { createSearchScript, SENT_LINE_BYTES, type SearchPrograms } from "./search-script.ts";

export interface SearchFound {
  readonly kind: "searched";
  /** The searched path. All result paths are relative to it, or to its folder if it is a file. */
  readonly path: TargetPath;
  readonly lines: readonly SearchLine[];
  readonly files: readonly string[];
  readonly counts: readonly FileCount[];
  /** There are more results than requested. */
  readonly hasMore: boolean;
  /** Why some files were not searched; undefined if the page is complete. */
  readonly partialReason: string | undefined;
  readonly engine: "rg" | "grep" | undefined;
}

/** The pattern is not a valid regular expression. */
export interface PatternInvalid {
  readonly kind: "pattern-invalid";
  readonly path: TargetPath;
  /** The error of the search program. */
  readonly message: string;
  readonly hint: string;
}

/** Extra time for the script to notice its deadline and to send its results. */
const GRACE_MS = 5_000;
const REASON_CHARS = 500;

/** Searches below a folder for one page of results. Stops as soon as the page is full; memory is bounded by the page. */
export async function searchFiles(
  run: RunFileScript,
  query: SearchQuery,
  programs: SearchPrograms,
  signal: AbortSignal,
): Promise<SearchFound | PatternInvalid | FileProblem> {
  const plan = planSearch(query);
  if (/[\0\n]/.test(plan.pattern + plan.globs.join(""))) {
    return createInvalid(query.path, "a pattern must be a single line");
  }
  const collector = createCollector(plan);
  const enough = new AbortController();
  const shape = plan.output === "names" || plan.output === "files_only" ? "names" : "lines";
  const parse = createRecordParser(shape, SENT_LINE_BYTES + 100, collector.take);
  const script = {
    script: createSearchScript(plan, programs),
    path: query.path,
    timeoutMs: plan.timeoutMs + GRACE_MS,
    onStdout(bytes: Uint8Array) {
      parse(bytes);
      if (collector.hasMore) enough.abort();
    },
  };
  const createFound = (
    path: TargetPath,
    engine: string | undefined,
    partialReason: string | undefined,
  ): SearchFound => ({
    kind: "searched",
    path,
    lines: collector.lines,
    files: collector.files,
    counts: collector.counts,
    hasMore: collector.hasMore,
    partialReason,
    engine: engine === "rg" || engine === "grep" ? engine : undefined,
  });

  const result = await runUntil(run, script, enough.signal, signal);
  if (result === "enough") return createFound(query.path, undefined, undefined);
  if (result.kind === "timed-out") return createFound(query.path, undefined, outOfTime(plan.timeoutMs));
  if (result.kind !== "done") return result;
  const { facts, path } = result;
  const patternError = facts.get("invalid");
  if (patternError !== undefined) return createInvalid(path, patternError);
  if (collector.hasMore) return createFound(path, facts.get("engine"), undefined);
  if (!facts.has("done")) return createFileProblem("incomplete", path);
  return createFound(path, facts.get("engine"), reasonOf(facts.get("stderr") ?? "", plan.timeoutMs));
}

async function runUntil(
  run: RunFileScript,
  script: Parameters<RunFileScript>[0],
  enough: AbortSignal,
  signal: AbortSignal,
): Promise<Awaited<ReturnType<RunFileScript>> | "enough"> {
  try {
    const result = await run(script, AbortSignal.any([signal, enough]));
    // We stopped the program ourselves after the page was full, so its exit status does not matter.
    return enough.aborted && result.kind !== "done" ? "enough" : result;
  } catch (error) {
    if (enough.aborted && !signal.aborted) return "enough";
    throw error;
  }
}

/** The reason for a partial result. The last line of `stderr` is the exit code; 1 may only mean that nothing was found. */
function reasonOf(stderr: string, timeoutMs: number): string | undefined {
  const end = stderr.lastIndexOf("\n");
  const errors = stderr.slice(0, Math.max(0, end)).trim();
  if (errors.includes("out of time")) return outOfTime(timeoutMs);
  if (errors !== "") return shorten(errors, REASON_CHARS);
  return Number(stderr.slice(end + 1)) <= 1 ? undefined : "a search program failed";
}

function outOfTime(timeoutMs: number): string {
  return `the search timed out after ${Math.round(timeoutMs / 1_000)} s`;
}

function createInvalid(path: TargetPath, reason: string): PatternInvalid {
  return {
    kind: "pattern-invalid",
    path,
    message: `The pattern cannot be used: ${shorten(reason.trim(), REASON_CHARS)}.`,
    hint: "Correct the pattern, or search for it as plain text.",
  };
}
