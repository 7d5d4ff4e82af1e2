import { foldText, type MatchStrategy, STRATEGIES } from "../fold-text.ts";
import { learnIndentation, type Reindent } from "../indent-map.ts";
import { bodyOf, findOccurrences } from "../text-lines.ts";
import type { Hunk } from "./patch.ts";

/** The position of a hunk as the index of its first line, or why it is unknown. */
export type HunkLocation =
  | {
      readonly kind: "found";
      readonly at: number;
      readonly tolerance: MatchStrategy;
      /** Re-indents the added lines of the hunk to match the file. */
      readonly reindent?: Reindent | undefined;
    }
  | { readonly kind: "ambiguous"; readonly positions: readonly number[] }
  | { readonly kind: "not-found" }
  | { readonly kind: "anchor-not-found"; readonly anchor: string }
  | { readonly kind: "nowhere" };

/** The lines of a file folded for each tolerance; cached for all hunks. */
export type LinesByTolerance = (tolerance: MatchStrategy) => readonly string[];

export function foldLines(lines: readonly string[]): LinesByTolerance {
  const folded = new Map<MatchStrategy, readonly string[]>([["exact", lines]]);
  return (tolerance) => {
    const known = folded.get(tolerance);
    if (known !== undefined) return known;
    const result = lines.map((line) =>
      tolerance === "indentation" ? line.trim() : foldText(bodyOf(line), tolerance).text,
    );
    folded.set(tolerance, result);
    return result;
  };
}

/**
 * Finds the only match of the hunk's old lines at or below line index `from`; the stated line decides between several.
 * `mayHold` is a fast check that rules out any match.
 */
export function locateHunk(
  linesBy: LinesByTolerance,
  hunk: Hunk,
  from: number,
  stated: number | undefined,
  mayHold: (old: readonly string[]) => boolean,
): HunkLocation {
  const lines = linesBy("exact");
  const anchored = findAnchored(lines, hunk.anchors, from);
  if (typeof anchored === "string") return { kind: "anchor-not-found", anchor: anchored };
  const old = hunk.lines.filter((line) => line.kind !== "add").map((line) => line.text);
  if (old.length === 0) return locateInsertion(lines, hunk, from, stated, anchored);

  const oldBy = foldLines(old);
  const endsAtFileEnd = (at: number) => !hunk.atEnd || at + old.length === lines.length;
  const added = hunk.lines.filter((line) => line.kind === "add").map((line) => line.text);
  const learn = (at: number): Reindent | undefined => {
    const reindent = learnIndentation(old, lines.slice(at, at + old.length));
    return added.some((line) => reindent?.(line) === undefined) ? undefined : reindent;
  };
  for (const tolerance of STRATEGIES) {
    if (tolerance !== "exact" && !mayHold(old)) break;
    const isIndented = tolerance === "indentation";
    if (isIndented && old.every((line) => line.trim() === "")) continue;
    const own = linesBy(tolerance);
    const wanted = oldBy(tolerance);
    if (
      !isIndented &&
      stated !== undefined &&
      stated >= from &&
      endsAtFileEnd(stated) &&
      wanted.every((line, index) => own[stated + index] === line)
    ) {
      return { kind: "found", at: stated, tolerance };
    }
    const runs = findOccurrences(own, wanted, from).filter(
      (at) => endsAtFileEnd(at) && (!isIndented || learn(at) !== undefined),
    );
    const matches = nearestPositions(anchored === undefined ? runs : firstAfterEach(anchored, runs), stated);
    const [at] = matches;
    if (at === undefined) continue;
    if (matches.length > 1) return { kind: "ambiguous", positions: matches };
    return { kind: "found", at, tolerance, ...(isIndented && { reindent: learn(at) }) };
  }
  return { kind: "not-found" };
}

/** A hunk that only adds lines needs a stated line, an anchor or the end of the file as its position. */
function locateInsertion(
  lines: readonly string[],
  hunk: Hunk,
  from: number,
  stated: number | undefined,
  anchored: readonly number[] | undefined,
): HunkLocation {
  if (stated !== undefined) {
    const inside = stated >= from && stated <= lines.length;
    return inside ? { kind: "found", at: stated, tolerance: "exact" } : { kind: "not-found" };
  }
  if (hunk.atEnd || lines.length === 0) return { kind: "found", at: lines.length, tolerance: "exact" };
  const [anchor, ...others] = anchored ?? [];
  if (anchor === undefined) return { kind: "nowhere" };
  if (others.length > 0) return { kind: "ambiguous", positions: [anchor, ...others] };
  return { kind: "found", at: anchor + 1, tolerance: "exact" };
}

/** Returns all indexes of the last anchor below the earlier ones, or the missing anchor; undefined without anchors. */
function findAnchored(lines: readonly string[], anchors: readonly string[], from: number) {
  let found: number[] | undefined;
  for (const anchor of anchors) {
    const below = (fits: (line: string) => boolean) =>
      [...lines.keys()].filter((at) => at >= from && fits((lines[at] ?? "").trim()));
    const whole = below((line) => line === anchor);
    const matches = whole.length > 0 ? whole : below((line) => line.startsWith(anchor));
    const starts = found?.map((at) => at + 1);
    found = starts === undefined ? matches : firstAfterEach(starts, matches);
    if (found.length === 0) return anchor;
  }
  return found;
}

/** The first of the sorted `positions` at or below each start, without duplicates. */
function firstAfterEach(starts: readonly number[], positions: readonly number[]): number[] {
  const firsts = new Set<number>();
  let next = 0;
  for (const start of starts) {
    while (next < positions.length && (positions[next] ?? 0) < start) next += 1;
    const position = positions[next];
    if (position !== undefined) firsts.add(position);
  }
  return [...firsts];
}

/** The positions closest to the stated line: two if they are equally far, all if no line is stated. */
function nearestPositions(positions: readonly number[], stated: number | undefined): readonly number[] {
  if (stated === undefined) return positions;
  const distance = (position: number) => Math.abs(position - stated);
  const least = positions.reduce((best, position) => Math.min(best, distance(position)), Infinity);
  return positions.filter((position) => distance(position) === least);
}
