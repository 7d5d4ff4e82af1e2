/**
 * Control characters except line feed and tab (escape sequences begin with one), the Unicode line separators, and the
 * marks and overrides of writing direction. A terminal acts on them: they clear the screen, fill the clipboard, or hide
 * or reorder the text that follows.
 */
const CONTROLS = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** The colours that our own output uses; none of them can hide text. */
const OWN_COLOURS = new RegExp(`(${"\u001b"}\\[(?:0|1|2|3|4|22|23|24|3[1-6]|39|90)m)`);

/** Replaces the control characters of untrusted text, so that a terminal shows the text and does not act on it. */
export function escapeControls(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(CONTROLS, "�");
}

/** Escapes the control characters of untrusted text in one of our own lines, and keeps our own colours. */
export function escapeForeignControls(text: string): string {
  return text
    .split(OWN_COLOURS)
    .map((piece, index) => (index % 2 === 1 ? piece : escapeControls(piece)))
    .join("");
}
