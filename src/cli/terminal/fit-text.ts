/**
 * Text with one column per character: ASCII, Latin letters and the marks of our own output. Other text needs
 * `Intl.Segmenter`, which takes longer to load than all of Node.
 */
const PLAIN = /^[ -~\u00a1-\u00ac\u00ae-\u02ff–—‘’“”…→−─❯✓✗\u2800-\u28ff]*$/;
let segmenter: Intl.Segmenter | undefined;
// East Asian wide and fullwidth forms, and emoji.
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** The maximum number of lines of a wrapped text; the rest is cut. */
const MAX_LINES = 20;

/** How many columns of a terminal a text takes. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmentsOf(text)) width += widthOf(segment);
  return width;
}

/** The text cut to a number of columns, with an ellipsis where something is missing. */
export function cutText(text: string, width: number): string {
  if (headOf(text, width).length === text.length) return text; // measures only the beginning of a long text
  return `${headOf(text, width - 1).trimEnd()}…`;
}

/** The text in at most `maxLines` lines, broken between words where possible. Text that does not fit is cut. */
export function wrapText(text: string, width: number, maxLines: number): string[] {
  const lines: string[] = [];
  let rest = text.trim();
  while (lines.length < maxLines - 1 && textWidth(rest) > width) {
    const head = headOf(rest, width);
    const space = rest[head.length] === " " ? head.length : head.lastIndexOf(" ");
    const line = space > 0 ? head.slice(0, space) : head; // a single long word, or a script without spaces
    lines.push(line.trimEnd());
    rest = rest.slice(line.length).trimStart();
  }
  return [...lines, cutText(rest, width)];
}

/** All of the text in pieces that fit the width, broken at any character; nothing is changed or omitted. */
export function foldText(text: string, width: number): string[] {
  const pieces: string[] = [];
  let rest = text;
  while (!PLAIN.test(rest) || rest.length > width) {
    const head = headOf(rest, width);
    if (head.length === rest.length) break;
    pieces.push(head);
    rest = rest.slice(head.length);
  }
  return [...pieces, rest];
}

/** The text wrapped to `columns`, all lines but the first indented; unchanged if the width is unknown. */
export function wrapIndented(text: string, columns: number | undefined, indent: number): string {
  if (columns === undefined || columns === Number.POSITIVE_INFINITY) return text;
  const [first = "", ...rest] = wrapText(text, columns, 2);
  if (rest.length === 0) return first;
  const more = wrapText(text.slice(first.length), columns - indent, MAX_LINES);
  return [first, ...more].join(`\n${" ".repeat(indent)}`);
}

/** As much of the text as fits, at least one character. */
function headOf(text: string, width: number): string {
  if (PLAIN.test(text)) return text.slice(0, Math.max(width, 1));
  let head = "";
  let used = 0;
  for (const { segment } of segmentsOf(text)) {
    used += widthOf(segment);
    if (used > width && head !== "") break;
    head += segment;
  }
  return head;
}

function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

function widthOf(segment: string): number {
  if (INVISIBLE.test(segment)) return 0;
  return WIDE.test(segment) ? 2 : 1;
}
