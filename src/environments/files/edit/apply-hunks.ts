import type { MatchStrategy } from "./fold-text.ts";
import { hasWords } from "./has-words.ts";
import { foldLines, type HunkPlace, locateHunk } from "./locate-hunk.ts";
import { findNearestPlace, type NearestPlace } from "./nearest-place.ts";
import type { Hunk } from "./patch.ts";
import { dominantEnding, endingOf, splitLines, withEnding } from "./text-lines.ts";

/** Where a hunk was put: the 1-based line of the old file, and what had to be overlooked. */
export interface HunkPlacement {
  readonly hunk: number; // 1-based
  readonly line: number;
  readonly movedBy: number; // from the line that the patch states, 0 if it states none
  readonly tolerance: MatchStrategy;
}

export interface HunkProblem {
  readonly hunk: number; // 1-based
  readonly patchLine: number;
  readonly reason: Exclude<HunkPlace["kind"], "found">;
  readonly message: string;
  readonly nearest: NearestPlace | undefined;
}

export type HunksOutcome =
  | { readonly kind: "applied"; readonly content: string; readonly placements: readonly HunkPlacement[] }
  | { readonly kind: "refused"; readonly problems: readonly HunkProblem[] };

/**
 * Applies all hunks or none; every byte that they do not change stays as it is. Problems quote the content as `show` has it.
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
  let done = 0; // lines of the old file that are dealt with
  let drift = 0; // how far the previous hunk was from its stated line: the next is likely as far
  let endStated = false;
  let endAdded = false;

  for (const [index, hunk] of hunks.entries()) {
    const stated = hunk.linesBefore === undefined ? undefined : hunk.linesBefore + drift;
    const place = locateHunk(linesBy, hunk, done, stated, (old) => hasWords(content, old.join("\n")));
    if (place.kind !== "found") {
      problems.push(describeProblem(place, hunk, index + 1, splitLines(show(content))));
      continue;
    }
    for (; done < place.at; done += 1) output.push(lines[done] ?? "");
    const confirmed = hunk.literal || lines.length === 0 || hunk.lines.some((line) => line.kind !== "add");
    const verbatim = place.tolerance === "exact" && confirmed;
    for (const line of hunk.lines) {
      if (line.kind === "add") {
        const text = place.reindent?.(line.text) ?? line.text;
        output.push(verbatim ? text : withEnding(text, ending));
      }
      if (line.kind === "keep") output.push(lines[done] ?? "");
      if (line.kind !== "add") done += 1;
    }
    if (hunk.linesBefore !== undefined) drift = place.at - hunk.linesBefore;
    endStated ||= hunk.statesFinalNewline;
    endAdded = done === lines.length && hunk.lines.at(-1)?.kind === "add";
    const movedBy = hunk.linesBefore === undefined ? 0 : place.at - hunk.linesBefore;
    placements.push({ hunk: index + 1, line: place.at + 1, movedBy, tolerance: place.tolerance });
  }
  if (problems.length > 0) return { kind: "refused", problems };

  for (; done < lines.length; done += 1) output.push(lines[done] ?? "");
  // Only the last line may lack a terminator: lines added below an unterminated one complete it.
  const text = output.map((line, index) =>
    endingOf(line) === "" && index < output.length - 1 ? line + ending : line,
  );
  const endsOpen = lines.length > 0 && endingOf(lines.at(-1) ?? "") === "";
  if (endsOpen && endAdded && !endStated) text.push((text.pop() ?? "").replace(/\r?\n$/, ""));
  return { kind: "applied", content: text.join(""), placements };
}

function describeProblem(
  place: Exclude<HunkPlace, { kind: "found" }>,
  hunk: Hunk,
  number: number,
  lines: readonly string[],
): HunkProblem {
  const old = hunk.lines.filter((line) => line.kind !== "add").map((line) => line.text);
  const wanted = place.kind === "anchor-not-found" ? [place.anchor] : old;
  return {
    hunk: number,
    patchLine: hunk.patchLine,
    reason: place.kind,
    message: `hunk ${number} (line ${hunk.patchLine} of the patch): ${messageOf(place)}`,
    nearest: place.kind === "ambiguous" ? undefined : findNearestPlace(lines, wanted),
  };
}

const LISTED_PLACES = 20;

function messageOf(place: Exclude<HunkPlace, { kind: "found" }>): string {
  switch (place.kind) {
    case "ambiguous": {
      const listed = place.places.slice(0, LISTED_PLACES).map((at) => at + 1);
      return `fits in ${place.places.length} places (lines ${listed.join(", ")}); add lines around it that tell them apart`;
    }
    case "anchor-not-found":
      return `the line ${JSON.stringify(place.anchor)} after \`@@\` is not in the file below the previous hunk`;
    case "nowhere":
      return "only adds lines and does not say where; add a line that stands next to them, or `*** End of File`";
    case "not-found":
      return "its old lines are not in the file below the previous hunk; read the file again";
  }
}
