import { indentOf, learnIndentation } from "./indent-map.ts";
import { bodyOf, endingOf, findOccurrences, splitLines } from "./text-lines.ts";

/** A match of a text in a file that ignores differences in indentation. */
export interface IndentedMatch {
  readonly start: number; // offsets in the file
  readonly end: number;
  /** Re-indents a text from the searched indentation to that of the file; undefined if the mapping is unknown. */
  reindent(text: string): string | undefined;
}

/** Finds whole lines of `content` that equal those of `wanted` except for trailing whitespace and consistent indentation. */
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
    const mapIndent = learnIndentation(wantedLines, window);
    if (!isShifted && mapIndent === undefined) return undefined;
    const isMixed =
      wantedIndent !== "" && indent !== "" && wantedIndent.includes("\t") !== indent.includes("\t");
    const canShift = isShifted && !isMixed;
    const moveLines = (text: string): string | undefined => {
      const moved = splitLines(text).map((line) => mapIndent?.(line));
      return moved.some((line) => line === undefined) ? undefined : moved.join("");
    };
    const end = (offsets[at + window.length] ?? content.length) - (wantedEnds ? 0 : ending.length);
    return {
      start: offsets[at] ?? 0,
      end,
      reindent: (text) => (canShift ? reindent(text, wantedIndent, indent) : undefined) ?? moveLines(text),
    };
  };

  const trimLine = (line: string) => line.trim();
  const candidates = findOccurrences(lines.map(trimLine), wantedLines.map(trimLine), 0);
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
  // A single match may overlap another match, which makes it ambiguous.
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
    const indent = indentOf(line);
    if (common === undefined) common = indent;
    while (!indent.startsWith(common)) common = common.slice(0, -1);
  }
  return common ?? "";
}

function reindent(text: string, from: string, to: string): string | undefined {
  const moved: string[] = [];
  for (const line of splitLines(text)) {
    const own = indentOf(line);
    if (bodyOf(line).trim() === "") moved.push(line);
    else if (own.startsWith(from)) moved.push(to + line.slice(from.length));
    else if (to.endsWith(from)) moved.push(to.slice(0, to.length - from.length) + line);
    else if (from.endsWith(to)) moved.push(line.slice(Math.min(own.length, from.length - to.length)));
    else return undefined; // tabs on one side and spaces on the other: the tab width is unknown
  }
  return moved.join("");
}
