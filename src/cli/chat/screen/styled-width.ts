import { stripVTControlCharacters } from "node:util";
import { cutText, textWidth } from "../../terminal/fit-text.ts";

/** The number of columns that a line takes; the line may contain our own colours. */
export function styledWidth(line: string): number {
  return textWidth(stripVTControlCharacters(line));
}

/** Cuts a line with our own colours to a number of columns; a line that must be cut loses its colours. */
export function cutStyled(line: string, width: number): string {
  const plain = stripVTControlCharacters(line);
  return textWidth(plain) <= width ? line : cutText(plain, width);
}
