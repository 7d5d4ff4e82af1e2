import { collapseProgress } from "./collapse-progress.ts";
import { stripEscapes } from "./strip-escapes.ts";

/** Output without escape sequences, with `\n` line ends, and with each progress line reduced to its last state. */
export function plainOutput(text: string): string {
  return collapseProgress(stripEscapes(text)).replace(/\r+\n/g, "\n");
}
