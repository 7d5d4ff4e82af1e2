import { containsWords, foldText, type MatchStrategy, STRATEGIES, type Tolerance } from "./fold-text.ts";
import { matchIndentation } from "./match-indentation.ts";
import { findSimilarLines, type SimilarLines } from "./similar-lines.ts";
import { dominantEnding, endingOf, type LineEnding, lineNumberAt, splitLines } from "./text-lines.ts";

/** A changed part of the new content, as offsets and as 1-based lines. */
export interface ReplacedRange {
  readonly start: number;
  readonly end: number;
  readonly fromLine: number;
  readonly toLine: number;
}

export type ReplaceOutcome =
  | {
      readonly kind: "replaced";
      readonly content: string;
      readonly count: number;
      readonly strategy: MatchStrategy;
      readonly ranges: readonly ReplacedRange[];
    }
  | { readonly kind: "not-found"; readonly nearest: SimilarLines | undefined }
  | { readonly kind: "ambiguous"; readonly count: number; readonly lines: readonly number[] } // lines of the first 20
  | { readonly kind: "unchanged" };

interface Match {
  readonly start: number;
  readonly end: number;
  readonly oldText: string; // old and new text, both re-indented for the file
  readonly newText: string;
}

const LISTED_LINES = 20;

/** Replaces the only occurrence of `oldText` (with `all`, every one), found by the strictest strategy that matches. */
export function replaceText(
  content: string,
  oldText: string,
  newText: string,
  options: { readonly all: boolean; readonly show?: ((text: string) => string) | undefined },
): ReplaceOutcome {
  for (const strategy of containsWords(content, oldText) ? STRATEGIES : []) {
    const matches = findMatches(content, oldText, newText, strategy);
    if (matches.length === 0) continue;
    if (matches.length > 1 && !options.all) {
      const lines = matches.slice(0, LISTED_LINES).map((match) => lineNumberAt(content, match.start));
      return { kind: "ambiguous", count: matches.length, lines };
    }
    return replaceMatches(content, withoutOverlaps(matches), strategy);
  }
  // The caller has only seen the text as `show` renders it, and must not see more of it here.
  const shown = options.show?.(content) ?? content;
  return { kind: "not-found", nearest: findSimilarLines(splitLines(shown), splitLines(oldText)) };
}

function findMatches(content: string, oldText: string, newText: string, strategy: MatchStrategy): Match[] {
  if (strategy !== "exact" && oldText.trim() === "") return []; // blank text is matched exactly or not at all
  if (strategy !== "indentation") return findFolded(content, oldText, newText, strategy);
  return matchIndentation(content, oldText).flatMap(({ start, end, reindent }) => {
    const [own, replacement] = [reindent(oldText), reindent(newText)];
    if (own === undefined || replacement === undefined) return [];
    return [{ start, end, oldText: own, newText: replacement }];
  });
}

function findFolded(content: string, oldText: string, newText: string, tolerance: Tolerance): Match[] {
  const folded = foldText(content, tolerance);
  const wanted = foldText(oldText, tolerance);
  if (wanted.text === "") return [];
  const find = (from: number): number => {
    let at = folded.text.indexOf(wanted.text, from);
    // "foo " must not match in "foobar", although its trailing space was dropped.
    while (at !== -1 && wanted.endsLine && (folded.text[at + wanted.text.length] ?? "\n") !== "\n")
      at = folded.text.indexOf(wanted.text, at + 1);
    return at;
  };
  const positions: number[] = [];
  for (let at = find(0); at !== -1; at = find(at + wanted.text.length)) positions.push(at);
  // "aa" occurs twice in "aaa", although only one of the two can be replaced.
  const [only, ...others] = positions;
  const overlapping = only !== undefined && others.length === 0 ? find(only + 1) : -1;
  if (overlapping !== -1) positions.push(overlapping);
  return positions.map((at) => {
    const start = folded.originalOffset(at);
    const splitsEnding = content[start] === "\n" && content[start - 1] === "\r";
    const end = folded.originalOffset(at + wanted.text.length);
    return { start: splitsEnding ? start - 1 : start, end, oldText, newText };
  });
}

function withoutOverlaps(matches: readonly Match[]): Match[] {
  let end = -1;
  return matches.filter((match) => {
    const isSeparate = match.start >= end;
    if (isSeparate) end = match.end;
    return isSeparate;
  });
}

function replaceMatches(content: string, matches: readonly Match[], strategy: MatchStrategy): ReplaceOutcome {
  const fallbackEnding = dominantEnding(splitLines(content));
  const ranges: ReplacedRange[] = [];
  let result = "";
  let line = 1;
  let copied = 0;
  for (const match of matches) {
    const before = content.slice(copied, match.start);
    const replacement = mergeReplacement(content.slice(match.start, match.end), match, fallbackEnding);
    result += before;
    line += newlines(before);
    const start = result.length;
    result += replacement;
    const toLine = line + newlines(replacement.replace(/\n$/, ""));
    ranges.push({ start, end: result.length, fromLine: line, toLine });
    line += newlines(replacement);
    copied = match.end;
  }
  result += content.slice(copied);
  if (result === content) return { kind: "unchanged" };
  return { kind: "replaced", content: result, count: matches.length, strategy, ranges };
}

/** The new text with the file's line endings. Leading and trailing lines that the edit leaves alone keep their bytes. */
function mergeReplacement(matched: string, { oldText, newText }: Match, fallbackEnding: LineEnding): string {
  const own = matched.split("\n");
  const before = oldText.replaceAll("\r\n", "\n").split("\n");
  const after = newText.replaceAll("\r\n", "\n").split("\n");
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;

  const firstEnding = endingOf(splitLines(matched)[0] ?? "");
  const ending = firstEnding === "" ? fallbackEnding : firstEnding;
  const lines = after.map((line, index) => {
    const last = index === after.length - 1;
    const kept = index < head ? index : index >= after.length - tail ? index - after.length + own.length : -1;
    const ownLine = own[kept];
    if (ownLine === undefined) return last ? line : line + ending;
    const ended = kept < own.length - 1;
    if (last) return ended ? ownLine.replace(/\r$/, "") : ownLine;
    return ownLine + (ended ? "\n" : ending);
  });
  return lines.join("");
}

function newlines(text: string): number {
  return text.split("\n").length - 1;
}
