import { shorten } from "../../../lib/shorten.ts";
import type { TargetPath } from "../../environment.ts";
import { createFileProblem, type FileProblem } from "../file-problem.ts";
import type { RunFileScript } from "../run-file-script.ts";
import { createCollector, type FileCount, type SearchLine } from "./line-collector.ts";
import { createRecordParser } from "./record-parser.ts";
import { planSearch, type SearchQuery } from "./search-query.ts";
import { createSearchScript, SENT_LINE_BYTES, type SearchPrograms } from "./search-script.ts";

export interface SearchFound {
  readonly kind: "searched";
  /** What was searched: all paths of the result are relative to it, or to the folder of the one file that it is. */
  readonly path: TargetPath;
  readonly lines: readonly SearchLine[];
  readonly files: readonly string[];
  readonly counts: readonly FileCount[];
  /** There are more results than were asked for. */
  readonly hasMore: boolean;
  /** Why not everything could be looked at; undefined when it was, as far as the page goes. */
  readonly partial: string | undefined;
  readonly engine: "rg" | "grep" | undefined;
}

/** The pattern is no regular expression. */
export interface PatternInvalid {
  readonly kind: "pattern-invalid";
  readonly path: TargetPath;
  /** What the program that reads it says. */
  readonly message: string;
  readonly hint: string;
}

/** Time for a slow tool to notice the end by itself, and to hand over what it found. */
const GRACE_MS = 5_000;
const REASON_CHARS = 500;

/** One page of what is found below a folder. Ends as soon as the page is full, and keeps nothing but the page. */
export async function searchFiles(
  run: RunFileScript,
  query: SearchQuery,
  programs: SearchPrograms,
  signal: AbortSignal,
): Promise<SearchFound | PatternInvalid | FileProblem> {
  const plan = planSearch(query);
  if (/[\0\n]/.test(plan.pattern + plan.globs.join(""))) {
    return invalid(query.path, "a pattern is one line of text");
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
  const found = (path: TargetPath, engine: string | undefined, partial: string | undefined): SearchFound => ({
    kind: "searched",
    path,
    lines: collector.lines,
    files: collector.files,
    counts: collector.counts,
    hasMore: collector.hasMore,
    partial,
    engine: engine === "rg" || engine === "grep" ? engine : undefined,
  });

  const result = await runUntil(run, script, enough.signal, signal);
  if (result === "enough") return found(query.path, undefined, undefined);
  if (result.kind === "timed-out") return found(query.path, undefined, outOfTime(plan.timeoutMs));
  if (result.kind !== "done") return result;
  const { facts, path } = result;
  const complaint = facts.get("invalid");
  if (complaint !== undefined) return invalid(path, complaint);
  if (collector.hasMore) return found(path, facts.get("engine"), undefined);
  if (!facts.has("done")) return createFileProblem("incomplete", path);
  return found(path, facts.get("engine"), reasonOf(facts.get("words") ?? "", plan.timeoutMs));
}

async function runUntil(
  run: RunFileScript,
  script: Parameters<RunFileScript>[0],
  enough: AbortSignal,
  signal: AbortSignal,
): Promise<Awaited<ReturnType<RunFileScript>> | "enough"> {
  try {
    const result = await run(script, AbortSignal.any([signal, enough]));
    // Whatever the end of the program looked like: we ended it, and have what we wanted.
    return enough.aborted && result.kind !== "done" ? "enough" : result;
  } catch (error) {
    if (enough.aborted && !signal.aborted) return "enough";
    throw error;
  }
}

/** What was complained of; the last word is the exit code, and 1 may only mean that nothing was found. */
function reasonOf(words: string, timeoutMs: number): string | undefined {
  const end = words.lastIndexOf("\n");
  const said = words.slice(0, Math.max(0, end)).trim();
  if (said.includes("out of time")) return outOfTime(timeoutMs);
  if (said !== "") return shorten(said, REASON_CHARS);
  return Number(words.slice(end + 1)) <= 1 ? undefined : "a program of the search failed";
}

function outOfTime(timeoutMs: number): string {
  return `the time of ${Math.round(timeoutMs / 1_000)} s was over before everything was looked at`;
}

function invalid(path: TargetPath, words: string): PatternInvalid {
  return {
    kind: "pattern-invalid",
    path,
    message: `The pattern cannot be used: ${shorten(words.trim(), REASON_CHARS)}`,
    hint: "Correct it, or search for it as plain text.",
  };
}
