/** Maximum length, in code units, of one visible character: flags, families, letters with combining marks. */
const MAX_CHARACTER_LENGTH = 64;
/** Up to this code, each code unit is a character by itself. */
const LAST_SIMPLE_CODE = 0x2ff;

/** Truncates a text to `maxLength` code units, including an ellipsis, without splitting a character. */
export function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${headOf(text, maxLength - 1)}…`;
}

/** The first `maxLength` code units of a text, or fewer where the limit would split a character. */
export function headOf(text: string, maxLength: number): string {
  return text.slice(0, boundaryAt(text, maxLength));
}

/** The last `maxLength` code units of a text, or fewer where the limit would split a character. */
export function tailOf(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const start = text.length - maxLength;
  const character = boundaryAt(text, start);
  if (character === start) return text.slice(start);
  return text.slice(character + characterAt(text, character).length);
}

/** Keeps the beginning and the end of a text; `mark` describes what was cut between them. */
export function cutMiddle(text: string, maxLength: number, mark: (cut: number) => string): string {
  if (text.length <= maxLength) return text;
  const head = headOf(text, Math.ceil(maxLength / 2));
  const tail = tailOf(text, Math.floor(maxLength / 2));
  return `${head}${mark(text.length - head.length - tail.length)}${tail}`;
}

/** The end of a text for display: an ellipsis, then text that starts at a line or word boundary if one is near. */
export function formatTail(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const tail = tailOf(text, maxLength - 1);
  if (/\s/.test(text.charAt(text.length - tail.length - 1))) return `…${tail.trimStart()}`;
  const near = headOf(tail, maxLength / 2);
  const skipped = near.includes("\n") ? near.indexOf("\n") : near.search(/\s/);
  return `…${tail.slice(Math.max(skipped, 0)).trimStart()}`;
}

/** The last character boundary at or before `at`. */
function boundaryAt(text: string, at: number): number {
  if (at >= text.length) return text.length;
  if (at <= 0 || (text.charCodeAt(at) <= LAST_SIMPLE_CODE && text.charCodeAt(at - 1) <= LAST_SIMPLE_CODE))
    return Math.max(at, 0);
  const from = Math.max(0, at - MAX_CHARACTER_LENGTH);
  const found = new Intl.Segmenter()
    .segment(text.slice(from, at + MAX_CHARACTER_LENGTH))
    .containing(at - from);
  const start = from + (found?.index ?? 0);
  // The character is longer than the segmented window (stacked combining marks): split it, but not a surrogate pair.
  if (start > from || from === 0) return start;
  return isLowSurrogate(text, at) ? at - 1 : at;
}

function characterAt(text: string, at: number): string {
  const [first] = new Intl.Segmenter().segment(text.slice(at, at + MAX_CHARACTER_LENGTH));
  return first?.segment ?? "";
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
