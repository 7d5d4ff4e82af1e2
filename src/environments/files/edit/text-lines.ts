/** Splits a text into lines that keep their terminators; joined, they give the text. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

/** All indexes of `needle` in `lines`, ascending, overlaps included; linear time even for repetitive text. */
export function findOccurrences(lines: readonly string[], needle: readonly string[], from: number): number[] {
  // Knuth-Morris-Pratt: for each prefix of `needle`, the length of its longest proper prefix that is also its suffix.
  const borders: number[] = [];
  const extend = (matched: number, line: string | undefined): number => {
    let length = matched;
    while (length > 0 && line !== needle[length]) length = borders[length - 1] ?? 0;
    return line === needle[length] ? length + 1 : length;
  };
  for (const [at, line] of needle.entries()) borders.push(at === 0 ? 0 : extend(borders[at - 1] ?? 0, line));
  const found: number[] = [];
  let matched = 0;
  for (let at = from; needle.length > 0 && at < lines.length; at++) {
    matched = extend(matched, lines[at]);
    if (matched === needle.length) found.push(at - needle.length + 1);
  }
  return found;
}

export type LineEnding = "\n" | "\r\n";

/** The terminator of a line, or "" for a last line that has none. */
export function endingOf(line: string): LineEnding | "" {
  return line.endsWith("\r\n") ? "\r\n" : line.endsWith("\n") ? "\n" : "";
}

/** The line without its terminator. */
export function bodyOf(line: string): string {
  return line.slice(0, line.length - endingOf(line).length);
}

/** The most frequent terminator; "\n" if there is none. */
export function dominantEnding(lines: readonly string[]): LineEnding {
  let balance = 0;
  for (const line of lines) balance += endingOf(line) === "\r\n" ? 1 : endingOf(line) === "\n" ? -1 : 0;
  return balance > 0 ? "\r\n" : "\n";
}

/** Replaces the terminator of a line; a line without one stays unchanged. */
export function withEnding(line: string, ending: LineEnding): string {
  return endingOf(line) === "" ? line : bodyOf(line) + ending;
}

/** The 1-based number of the line that holds `offset`. */
export function lineNumberAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}
