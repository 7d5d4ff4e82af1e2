import { headOf } from "../../lib/text/shorten.ts";

/** The size limits of one page. */
export interface PageLimits {
  readonly lines: number;
  /** Characters of one line; a longer line is cut. */
  readonly lineChars: number;
  /** Characters of all lines together; each line ending counts as one. */
  readonly chars: number;
}

export interface TextPage {
  /** Without line endings. */
  readonly lines: readonly string[];
  /** The numbers of the lines that were cut. */
  readonly cutLines: readonly number[];
  /** Whether the page holds all offered lines. */
  readonly complete: boolean;
}

/** Takes as many lines as the limits allow, but at least one; `firstLine` is the number of the first offered line. */
export function createTextPage(offered: readonly string[], firstLine: number, limits: PageLimits): TextPage {
  const lines: string[] = [];
  const cutLines: number[] = [];
  let chars = 0;
  for (const whole of offered.slice(0, limits.lines)) {
    const line = headOf(
      whole,
      lines.length === 0 ? Math.min(limits.lineChars, limits.chars) : limits.lineChars,
    );
    if (lines.length > 0 && chars + line.length + 1 > limits.chars) break;
    if (line.length < whole.length) cutLines.push(firstLine + lines.length);
    lines.push(line);
    chars += line.length + 1;
  }
  return { lines, cutLines, complete: lines.length === offered.length };
}

/** Splits a text into lines; a final line ending does not start another line. */
export function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}
