/** Quotes a text as one word for any POSIX shell. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Escapes a text for bash's $'…' or a printf format: the result is one line without quotes. */
export function escapeLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must be escaped
  return text.replace(/[\\'\x00-\x1f\x7f]/g, (character) =>
    character === "\\" ? "\\\\" : `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
}

/** The letters after a backslash in C, bash and git, except octal digits. */
export const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Formats bytes for a shell's builtin printf, the only way to write a NUL or an arbitrary byte in a script. */
export function printfFormat(bytes: Uint8Array): string {
  let format = "";
  for (const byte of bytes) {
    if (byte === 0x2d && format === "")
      format += "\\055"; // a leading dash would be an option
    else if (byte === 0x25) format += "%%";
    else if (byte === 0x5c) format += "\\\\";
    else if ((byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x09)
      format += String.fromCharCode(byte);
    else format += `\\${byte.toString(8).padStart(3, "0")}`;
  }
  return format;
}
