// Escape sequences: CSI, OSC and other strings up to their end, two-character ones. Linear: no part can match in two ways.
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]/g;

/** Output as a person would find it on the screen: no colours, no movements, and of a progress line its last state. */
export function plainOutput(text: string): string {
  const plain = text.includes("\x1b") || text.includes("\x9b") ? text.replace(ESCAPES, "") : text;
  return plain.includes("\r") ? plain.split("\n").map(lastState).join("\n") : plain;
}

/** What was written after the last carriage return that anything followed. */
function lastState(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === "\r") end--;
  return end === 0 ? "" : line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}
