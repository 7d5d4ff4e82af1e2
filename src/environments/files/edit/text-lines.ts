/** The lines of a text, each with its own terminator; joined, they are the text again. */
export function splitLines(text: string): string[] {
  const lines: string[] = [];
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const end = newline === -1 ? text.length : newline + 1;
    lines.push(text.slice(at, end));
    at = end;
  }
  return lines;
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

/** The terminator that most lines have; "\n" when there is none to go by. */
export function dominantEnding(lines: readonly string[]): LineEnding {
  let balance = 0;
  for (const line of lines) balance += endingOf(line) === "\r\n" ? 1 : endingOf(line) === "\n" ? -1 : 0;
  return balance > 0 ? "\r\n" : "\n";
}

/** The line with `ending` in place of its terminator; a line without one stays so. */
export function withEnding(line: string, ending: LineEnding): string {
  return endingOf(line) === "" ? line : bodyOf(line) + ending;
}

/** The 1-based number of the line that holds `offset`. */
export function lineNumberAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}
