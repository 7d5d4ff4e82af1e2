import { findRuns } from "./find-runs.ts";
import { learnIndentation } from "./indent-map.ts";
import { bodyOf, endingOf, splitLines } from "./text-lines.ts";

/** Where a text stands in a file when both are moved to the same indentation. */
export interface IndentedMatch {
  readonly start: number; // offsets in the file
  readonly end: number;
  /** Moves a text that was written for the searched indentation to that of the file; undefined when it cannot be told how. */
  reindent(text: string): string | undefined;
}

/** Finds the whole lines of `content` that equal those of `wanted` but for their indentation, nested alike, and trailing blanks. */
export function matchIndentation(content: string, wanted: string): IndentedMatch[] {
  const lines = splitLines(content);
  const offsets = [0];
  for (const line of lines) offsets.push((offsets.at(-1) ?? 0) + line.length);
  const wantedLines = splitLines(wanted);
  const wantedIndent = commonIndent(wantedLines);
  const wantedBodies = wantedLines.map((line) => dedent(line, wantedIndent));
  const wantedEnds = endingOf(wantedLines.at(-1) ?? "") !== "";

  const matchAt = (at: number): IndentedMatch | undefined => {
    const window = lines.slice(at, at + wantedLines.length);
    const ending = endingOf(window.at(-1) ?? "");
    if (wantedEnds && ending === "") return undefined;
    const indent = commonIndent(window);
    const isShifted = window.every((line, index) => dedent(line, indent) === wantedBodies[index]);
    const learnt = learnIndentation(wantedLines, window);
    if (!isShifted && learnt === undefined) return undefined;
    const isMixed =
      wantedIndent !== "" && indent !== "" && wantedIndent.includes("\t") !== indent.includes("\t");
    const canShift = isShifted && !isMixed;
    const moveLines = (text: string): string | undefined => {
      const moved = splitLines(text).map((line) => learnt?.(line));
      return moved.some((line) => line === undefined) ? undefined : moved.join("");
    };
    const end = (offsets[at + window.length] ?? content.length) - (wantedEnds ? 0 : ending.length);
    return {
      start: offsets[at] ?? 0,
      end,
      reindent: (text) => (canShift ? reindent(text, wantedIndent, indent) : undefined) ?? moveLines(text),
    };
  };

  const trimmed = (line: string) => line.trim();
  const candidates = findRuns(lines.map(trimmed), wantedLines.map(trimmed), 0);
  const matches: IndentedMatch[] = [];
  let [from, first] = [0, 0];
  for (const at of candidates) {
    const match = at < from ? undefined : matchAt(at);
    if (match === undefined) continue;
    if (matches.length === 0) first = at;
    matches.push(match);
    from = at + wantedLines.length;
  }
  if (matches.length !== 1) return matches;
  // A single match may still overlap with another one: then it fits twice.
  const others = candidates.filter((at) => at > first && at < from);
  for (const at of others) {
    const match = matchAt(at);
    if (match !== undefined) return [...matches, match];
  }
  return matches;
}

function dedent(line: string, indent: string): string {
  return line.trimEnd().slice(indent.length);
}

function commonIndent(lines: readonly string[]): string {
  let common: string | undefined;
  for (const line of lines) {
    if (line.trim() === "") continue;
    const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
    if (common === undefined) common = indent;
    while (!indent.startsWith(common)) common = common.slice(0, -1);
  }
  return common ?? "";
}

function reindent(text: string, from: string, to: string): string | undefined {
  const moved: string[] = [];
  for (const line of splitLines(text)) {
    const own = /^[ \t]*/.exec(line)?.[0] ?? "";
    if (bodyOf(line).trim() === "") moved.push(line);
    else if (own.startsWith(from)) moved.push(to + line.slice(from.length));
    else if (to.endsWith(from)) moved.push(to.slice(0, to.length - from.length) + line);
    else if (from.endsWith(to)) moved.push(line.slice(Math.min(own.length, from.length - to.length)));
    else return undefined; // tabs on one side and spaces on the other: the width of a tab is anybody's guess
  }
  return moved.join("");
}
