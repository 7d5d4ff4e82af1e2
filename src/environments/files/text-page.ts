import { headOf } from "../../lib/shorten.ts";

/** How much of a text is shown at once. */
export interface PageLimits {
  readonly lines: number;
  /** Characters of one line; the rest of it is cut. */
  readonly lineChars: number;
  /** Characters of all lines, counting one for the end of each. */
  readonly chars: number;
}

export interface TextPage {
  /** Without their endings. */
  readonly lines: readonly string[];
  /** The numbers of those lines whose end is not shown. */
  readonly cutLines: readonly number[];
  /** Whether all lines that were offered are in it. */
  readonly complete: boolean;
}

/** Takes as many lines as the limits allow, at least one; `firstLine` is the number of the first. */
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

/** Lines of a text; what follows the last ending is one more only if there is something. */
export function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}
