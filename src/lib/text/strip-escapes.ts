// CSI sequences, OSC and other string sequences, two-character sequences. Unambiguous, so matching takes linear time.
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters on purpose
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]/g;

/** Removes escape sequences: colours, titles, links, cursor movements. */
export function stripEscapes(text: string): string {
  return text.includes("\x1b") || text.includes("\x9b") ? text.replace(ESCAPES, "") : text;
}
