import { textWidth } from "../../terminal/fit-text.ts";

/** A piece of text with one style. */
export interface Span {
  readonly text: string;
  readonly style: (text: string) => string;
}

/** The maximum width of a row of prose, because wider rows are hard to read. */
export const MAX_PROSE_COLUMNS = 100;

/** A row of wrapped text, and the number of words from the start of the text to the end of the row. */
export interface WrappedRow {
  readonly text: string;
  readonly words: number;
}

/**
 * Breaks text between words into rows. A word that is wider than a row, such as an address or a path, gets a row of its own
 * and is never broken, so that it can be selected and copied. Adding text at the end changes only the last row. The first
 * `skipped` words were printed earlier, perhaps at another width, and are omitted.
 */
export function wrapSpans(
  spans: readonly Span[],
  width: number,
  indents: { readonly first: string; readonly rest: string },
  skipped = 0,
): WrappedRow[] {
  const rows: WrappedRow[] = [];
  const start = skipped === 0 ? indents.first : indents.rest;
  let row = start;
  let used = textWidth(start);
  let isEmpty = true;
  let blank = "";
  let count = 0;
  for (const word of splitWords(spans)) {
    if (word.isBlank) {
      blank = isEmpty ? "" : " ";
      continue;
    }
    if (count < skipped) {
      count++;
      continue;
    }
    if (!isEmpty && used + blank.length + word.width > width) {
      rows.push({ text: row, words: count });
      row = indents.rest;
      used = textWidth(indents.rest);
      blank = "";
    }
    row += blank + word.text;
    used += blank.length + word.width;
    blank = "";
    isEmpty = false;
    count++;
  }
  return isEmpty && (skipped > 0 || start === "") ? rows : [...rows, { text: row, words: count }];
}

interface Word {
  readonly text: string;
  readonly width: number;
  readonly isBlank: boolean;
}

/** A character of a script without spaces, with the punctuation after it, which must not start a row. */
const UNSPACED =
  /([\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff][\u3001\u3002\uff01\uff09\uff0c\uff1a\uff1b\uff1f\u300d\u300f]*)/;
const SEPARATORS = new RegExp(`([ \\t\\n]+)|${UNSPACED.source}`);

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
    for (const piece of span.text.split(SEPARATORS)) {
      if (piece === undefined || piece === "") continue;
      if (/^[ \t\n]/.test(piece)) {
        end();
        words.push({ text: " ", width: 1, isBlank: true });
      } else {
        const isUnspaced = UNSPACED.test(piece);
        if (isUnspaced) end();
        text += span.style(piece);
        width += textWidth(piece);
        if (isUnspaced) end();
      }
    }
  }
  end();
  return words;
}
