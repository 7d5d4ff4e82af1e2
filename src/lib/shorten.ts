/** How far a character may reach that consists of many: flags, families, letters with marks. */
const LONGEST_CHARACTER = 64;
/** Up to here every code unit is a character of its own. */
const LAST_SIMPLE = 0x2ff;

/** The text in at most so many code units, with an ellipsis where something is missing, and no character cut in two. */
export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${headOf(text, most - 1)}…`;
}

/** The beginning of a text, without a piece of a character. */
export function headOf(text: string, most: number): string {
  return text.slice(0, boundaryAt(text, most));
}

/** The end of a text, without a piece of a character. */
export function tailOf(text: string, most: number): string {
  if (text.length <= most) return text;
  const start = text.length - most;
  const character = boundaryAt(text, start);
  if (character === start) return text.slice(start);
  return text.slice(character + characterAt(text, character).length);
}

/** The end of a text for people: it begins with a line or a word where one is near, after an ellipsis. */
export function lastWords(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = tailOf(text, most - 1);
  if (/\s/.test(text.charAt(text.length - tail.length - 1))) return `…${tail.trimStart()}`;
  const near = headOf(tail, most / 2);
  const skipped = near.includes("\n") ? near.indexOf("\n") : near.search(/\s/);
  return `…${tail.slice(Math.max(skipped, 0)).trimStart()}`;
}

/** The nearest place at or before `at` where a character begins. */
function boundaryAt(text: string, at: number): number {
  if (at >= text.length) return text.length;
  if (at <= 0 || (text.charCodeAt(at) <= LAST_SIMPLE && text.charCodeAt(at - 1) <= LAST_SIMPLE))
    return Math.max(at, 0);
  const from = Math.max(0, at - LONGEST_CHARACTER);
  const found = new Intl.Segmenter().segment(text.slice(from, at + LONGEST_CHARACTER)).containing(at - from);
  const start = from + (found?.index ?? 0);
  // A heap of marks has no end in sight: it is cut, but no pair of surrogates is.
  if (start > from || from === 0) return start;
  return isLowSurrogate(text, at) ? at - 1 : at;
}

function characterAt(text: string, at: number): string {
  const [first] = new Intl.Segmenter().segment(text.slice(at, at + LONGEST_CHARACTER));
  return first?.segment ?? "";
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
