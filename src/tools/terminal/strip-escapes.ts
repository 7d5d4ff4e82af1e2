// Escape sequences: CSI, OSC and other strings up to their end, two-character ones. Linear: no part can match in two ways.
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]/g;

/** A text without colours, titles, links and movements. */
export function stripEscapes(text: string): string {
  return text.includes("\x1b") || text.includes("\x9b") ? text.replace(ESCAPES, "") : text;
}
