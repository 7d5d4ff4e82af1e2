/**
 * Control characters but line feed and tab (escape sequences begin with one), and the marks that turn the direction of
 * writing. A terminal obeys them: they clear the screen, fill the clipboard or hide what follows.
 */
const CONTROLS = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** The colours that our own output uses; none of them can hide text. */
const OWN_COLOURS = new RegExp(`(${"\u001b"}\\[(?:0|1|2|3|4|22|23|24|3[1-6]|39|90)m)`);

/** Text that is not ours, such that a terminal shows it and does not obey it. */
export function escapeControls(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(CONTROLS, "�");
}

/** The same for a line of ours that quotes such text: our own colours stay. */
export function escapeForeignControls(text: string): string {
  return text
    .split(OWN_COLOURS)
    .map((piece, index) => (index % 2 === 1 ? piece : escapeControls(piece)))
    .join("");
}
