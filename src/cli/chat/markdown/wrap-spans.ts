import { textWidth } from "../../terminal/fit-text.ts";

/** A piece of text with one style. */
export interface Span {
  readonly text: string;
  readonly style: (text: string) => string;
}

/** The widest a row of prose becomes: longer rows are hard to read. */
export const MAX_PROSE_COLUMNS = 100;

/**
 * Breaks text between words into rows. A word that is wider than a row, such as an address or a path, gets a row of its own
 * and is never broken, so that it can be selected and copied. Adding text at the end changes only the last row.
 */
export function wrapSpans(
  spans: readonly Span[],
  width: number,
  indents: { readonly first: string; readonly rest: string },
): string[] {
  const rows: string[] = [];
  let row = indents.first;
  let used = textWidth(indents.first);
  let isEmpty = true;
  let blank = "";
  for (const word of splitWords(spans)) {
    if (word.isBlank) {
      blank = isEmpty ? "" : " ";
      continue;
    }
    if (!isEmpty && used + blank.length + word.width > width) {
      rows.push(row);
      row = indents.rest;
      used = textWidth(indents.rest);
      blank = "";
    }
    row += blank + word.text;
    used += blank.length + word.width;
    blank = "";
    isEmpty = false;
  }
  return isEmpty && rows.length === 0 && indents.first === "" ? [] : [...rows, row];
}

interface Word {
  readonly text: string;
  readonly width: number;
  readonly isBlank: boolean;
}

/** Words with their styles; a word may consist of several spans. */
function splitWords(spans: readonly Span[]): Word[] {
  const words: Word[] = [];
  let text = "";
  let width = 0;
  const end = (): void => {
    if (text !== "") words.push({ text, width, isBlank: false });
    text = "";
    width = 0;
  };
  for (const span of spans) {
    for (const piece of span.text.split(/([ \t\n]+)/)) {
      if (piece === "") continue;
      if (/^[ \t\n]/.test(piece)) {
        end();
        words.push({ text: " ", width: 1, isBlank: true });
      } else {
        text += span.style(piece);
        width += textWidth(piece);
      }
    }
  }
  end();
  return words;
}
