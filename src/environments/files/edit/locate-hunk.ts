import { findRuns } from "./find-runs.ts";
import { foldText, type MatchStrategy, STRATEGIES } from "./fold-text.ts";
import { learnIndentation, type Reindent } from "./indent-map.ts";
import type { Hunk } from "./patch.ts";
import { bodyOf } from "./text-lines.ts";

/** Where a hunk belongs, as the index of its first line, or why that cannot be said. */
export type HunkPlace =
  | {
      readonly kind: "found";
      readonly at: number;
      readonly tolerance: MatchStrategy;
      /** Moves lines that the hunk adds to where the file has its old ones. */
      readonly reindent?: Reindent | undefined;
    }
  | { readonly kind: "ambiguous"; readonly places: readonly number[] }
  | { readonly kind: "not-found" }
  | { readonly kind: "anchor-not-found"; readonly anchor: string }
  | { readonly kind: "nowhere" };

/** The lines of a file as each tolerance sees them, folded once however many hunks are searched for. */
export type LinesByTolerance = (tolerance: MatchStrategy) => readonly string[];

export function foldLines(lines: readonly string[]): LinesByTolerance {
  const folded = new Map<MatchStrategy, readonly string[]>([["exact", lines]]);
  return (tolerance) => {
    const known = folded.get(tolerance);
    if (known !== undefined) return known;
    const made = lines.map((line) =>
      tolerance === "indentation" ? line.trim() : foldText(bodyOf(line), tolerance).text,
    );
    folded.set(tolerance, made);
    return made;
  };
}

/**
 * Finds the one place at or below line index `from` where the old lines of the hunk stand; the stated line decides between
 * several. `mayHold` says quickly that the lines are nowhere.
 */
export function locateHunk(
  linesBy: LinesByTolerance,
  hunk: Hunk,
  from: number,
  stated: number | undefined,
  mayHold: (old: readonly string[]) => boolean,
): HunkPlace {
  const lines = linesBy("exact");
  const anchored = findAnchored(lines, hunk.anchors, from);
  if (typeof anchored === "string") return { kind: "anchor-not-found", anchor: anchored };
  const old = hunk.lines.filter((line) => line.kind !== "add").map((line) => line.text);
  if (old.length === 0) return locateInsertion(lines, hunk, from, stated, anchored);

  const oldBy = foldLines(old);
  const ends = (at: number) => !hunk.atEnd || at + old.length === lines.length;
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
      ends(stated) &&
      wanted.every((line, index) => own[stated + index] === line)
    ) {
      return { kind: "found", at: stated, tolerance };
    }
    const runs = findRuns(own, wanted, from).filter(
      (at) => ends(at) && (!isIndented || learn(at) !== undefined),
    );
    const places = nearest(anchored === undefined ? runs : firstAfterEach(anchored, runs), stated);
    const [at] = places;
    if (at === undefined) continue;
    if (places.length > 1) return { kind: "ambiguous", places };
    return { kind: "found", at, tolerance, ...(isIndented && { reindent: learn(at) }) };
  }
  return { kind: "not-found" };
}

/** A hunk that only adds says nothing itself about its place, so something else has to. */
function locateInsertion(
  lines: readonly string[],
  hunk: Hunk,
  from: number,
  stated: number | undefined,
  anchored: readonly number[] | undefined,
): HunkPlace {
  if (stated !== undefined) {
    const inside = stated >= from && stated <= lines.length;
    return inside ? { kind: "found", at: stated, tolerance: "exact" } : { kind: "not-found" };
  }
  if (hunk.atEnd || lines.length === 0) return { kind: "found", at: lines.length, tolerance: "exact" };
  const [anchor, ...others] = anchored ?? [];
  if (anchor === undefined) return { kind: "nowhere" };
  if (others.length > 0) return { kind: "ambiguous", places: [anchor, ...others] };
  return { kind: "found", at: anchor + 1, tolerance: "exact" };
}

/** Every index of the last anchor below the ones before it; the anchor that is not there; undefined without anchors. */
function findAnchored(
  lines: readonly string[],
  anchors: readonly string[],
  from: number,
): number[] | string | undefined {
  let found: number[] | undefined;
  for (const anchor of anchors) {
    const below = (fits: (line: string) => boolean) =>
      [...lines.keys()].filter((at) => at >= from && fits((lines[at] ?? "").trim()));
    const whole = below((line) => line === anchor);
    const places = whole.length > 0 ? whole : below((line) => line.startsWith(anchor));
    found =
      found === undefined
        ? places
        : firstAfterEach(
            found.map((at) => at + 1),
            places,
          );
    if (found.length === 0) return anchor;
  }
  return found;
}

/** The first of the sorted `places` at or below each start, each place once. */
function firstAfterEach(starts: readonly number[], places: readonly number[]): number[] {
  const firsts = new Set<number>();
  let next = 0;
  for (const start of starts) {
    while (next < places.length && (places[next] ?? 0) < start) next += 1;
    const place = places[next];
    if (place !== undefined) firsts.add(place);
  }
  return [...firsts];
}

/** Those of the places that are closest to the stated one: two when they are equally far, all when none is stated. */
function nearest(places: readonly number[], stated: number | undefined): readonly number[] {
  if (stated === undefined) return places;
  const distance = (place: number) => Math.abs(place - stated);
  const least = places.reduce((best, place) => Math.min(best, distance(place)), Number.POSITIVE_INFINITY);
  return places.filter((place) => distance(place) === least);
}
