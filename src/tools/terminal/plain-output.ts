import { collapseProgress } from "./collapse-progress.ts";
import { stripEscapes } from "./strip-escapes.ts";

/** Output without colours and movements, with `\n` for `\r\n`, and of a progress line its last state. */
export function plainOutput(text: string): string {
  return collapseProgress(stripEscapes(text)).replace(/\r+\n/g, "\n");
}
