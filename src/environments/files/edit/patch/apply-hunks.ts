import { containsWords, type MatchStrategy } from "../fold-text.ts";
import { findSimilarLines, type SimilarLines } from "../similar-lines.ts";
import { dominantEnding, endingOf, splitLines, withEnding } from "../text-lines.ts";
import { foldLines, type HunkLocation, locateHunk } from "./locate-hunk.ts";
import type { Hunk } from "./patch.ts";

/** Where a hunk was applied: the 1-based line of the old file, and the tolerance that was needed. */
export interface HunkPlacement {
  readonly hunk: number; // 1-based
  readonly line: number;
  readonly movedBy: number; // from the line that the patch states, 0 if it states none
  readonly tolerance: MatchStrategy;
}

export interface HunkProblem {
  readonly hunk: number; // 1-based
  readonly patchLine: number;
  readonly reason: Exclude<HunkLocation["kind"], "found">;
  readonly message: string;
  readonly nearest: SimilarLines | undefined;
}

export type HunksOutcome =
  | { readonly kind: "applied"; readonly content: string; readonly placements: readonly HunkPlacement[] }
  | { readonly kind: "refused"; readonly problems: readonly HunkProblem[] };

/**
 * Applies all hunks or none; all other bytes stay unchanged. Problems quote the content as `show` renders it.
 */
export function applyHunks(
  content: string,
  hunks: readonly Hunk[],
  show: (text: string) => string = (text) => text,
): HunksOutcome {
  const lines = splitLines(content);
  const linesBy = foldLines(lines);
  const ending = dominantEnding(lines);
  const output: string[] = [];
  const placements: HunkPlacement[] = [];
  const problems: HunkProblem[] = [];
  let done = 0; // processed lines of the old file
  let drift = 0; // distance of the previous hunk from its stated line; the next one is likely as far off
  let endStated = false;
  let endAdded = false;

  for (const [index, hunk] of hunks.entries()) {
    const stated = hunk.linesBefore === undefined ? undefined : hunk.linesBefore + drift;
    const location = locateHunk(linesBy, hunk, done, stated, (old) => containsWords(content, old.join("\n")));
    if (location.kind !== "found") {
      problems.push(describeProblem(location, hunk, index + 1, splitLines(show(content))));
      continue;
    }
    for (; done < location.at; done += 1) output.push(lines[done] ?? "");
    const confirmed = hunk.literal || lines.length === 0 || hunk.lines.some((line) => line.kind !== "add");
    const verbatim = location.tolerance === "exact" && confirmed;
    for (const line of hunk.lines) {
      if (line.kind === "add") {
        const text = location.reindent?.(line.text) ?? line.text;
        output.push(verbatim ? text : withEnding(text, ending));
      }
      if (line.kind === "keep") output.push(lines[done] ?? "");
      if (line.kind !== "add") done += 1;
    }
    if (hunk.linesBefore !== undefined) drift = location.at - hunk.linesBefore;
    endStated ||= hunk.statesFinalNewline;
    endAdded = done === lines.length && hunk.lines.at(-1)?.kind === "add";
    const movedBy = hunk.linesBefore === undefined ? 0 : location.at - hunk.linesBefore;
    placements.push({ hunk: index + 1, line: location.at + 1, movedBy, tolerance: location.tolerance });
  }
  if (problems.length > 0) return { kind: "refused", problems };

  for (; done < lines.length; done += 1) output.push(lines[done] ?? "");
  // Only the last line may lack a terminator: an unterminated line gets one when lines are added below it.
  const text = output.map((line, index) =>
    endingOf(line) === "" && index < output.length - 1 ? line + ending : line,
  );
  const endsOpen = lines.length > 0 && endingOf(lines.at(-1) ?? "") === "";
  if (endsOpen && endAdded && !endStated) text.push((text.pop() ?? "").replace(/\r?\n$/, ""));
  return { kind: "applied", content: text.join(""), placements };
}

function describeProblem(
  location: Exclude<HunkLocation, { kind: "found" }>,
  hunk: Hunk,
  number: number,
  lines: readonly string[],
): HunkProblem {
  const old = hunk.lines.filter((line) => line.kind !== "add").map((line) => line.text);
  const wanted = location.kind === "anchor-not-found" ? [location.anchor] : old;
  return {
    hunk: number,
    patchLine: hunk.patchLine,
    reason: location.kind,
    message: `hunk ${number} (line ${hunk.patchLine} of the patch): ${formatReason(location)}`,
    nearest: location.kind === "ambiguous" ? undefined : findSimilarLines(lines, wanted),
  };
}

const LISTED_MATCHES = 20;

function formatReason(location: Exclude<HunkLocation, { kind: "found" }>): string {
  switch (location.kind) {
    case "ambiguous": {
      const listed = location.positions.slice(0, LISTED_MATCHES).map((at) => at + 1);
      return `matches ${location.positions.length} times (lines ${listed.join(", ")}); add context lines that make it unique`;
    }
    case "anchor-not-found":
      return `the line ${JSON.stringify(location.anchor)} after \`@@\` does not occur in the file below the previous hunk`;
    case "nowhere":
      return "only adds lines without a position; add an adjacent context line, or `*** End of File`";
    case "not-found":
      return "its old lines do not occur in the file below the previous hunk; read the file again";
  }
}
