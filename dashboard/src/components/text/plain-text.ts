// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are removed
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
/** Characters that change the direction of the text around them. */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g;

/** The output of a program as plain text, without colours, cursor movements and characters that change the text direction. */
export function plainText(text: string): string {
  return text
    .replace(SEQUENCES, "")
    .replace(/\r\n/g, "\n")
    .replace(/^[^\n]*\r(?=[^\n])/gm, "") // a line that was written over
    .replace(CONTROLS, "")
    .replace(DIRECTIONS, "");
}
