import { shorten } from "../../lib/text/shorten.ts";
import { escapeControls } from "./escape-controls.ts";
import { foldText, textWidth } from "./fit-text.ts";

/** Starts each line of quoted text, so that the line cannot be mistaken for one of ours. */
const MARK = "  | ";
const MAX_CHARS = 500;

/** Untrusted text on one line: line ends and tabs are shown as `\n` and `\t`. */
export function quoteLine(text: string): string {
  return escapeControls(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** The beginning of untrusted text, on one line of a list. */
export function quoteShort(text: string): string {
  return shorten(quoteLine(text), MAX_CHARS);
}

/**
 * Untrusted text after a label: on the same line if it fits there, otherwise below it, each line with a mark. Long lines
 * are broken here, because a terminal would continue them without the mark.
 */
export function quoteBlock(label: string, text: string, columns: number | undefined): string {
  const width = columns ?? Number.POSITIVE_INFINITY;
  const shown = escapeControls(text).replaceAll("\t", "    ");
  if (!shown.includes("\n") && label.length + 1 + foldWidth(shown, width) <= width)
    return `${label} ${shown}`;
  const lines = shown.split("\n").flatMap((line) => foldText(line, width - MARK.length - 1));
  return [label, ...lines.map((line) => MARK + line)].join("\n");
}

/** How many columns the text takes, or more than `width` if it does not fit. */
function foldWidth(text: string, width: number): number {
  return text.length > width ? width + 1 : textWidth(text);
}
