/** The text as one word of any POSIX shell. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The text for the inside of bash's $'…' or of a printf format: on one line, and without a quote of its own. */
export function escapeLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must be escaped
  return text.replace(/[\\'\x00-\x1f\x7f]/g, (character) =>
    character === "\\" ? "\\\\" : `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
}

/** Bytes as the format of a shell's builtin printf, which is the one way to name a NUL or a stray byte in a script. */
export function printfFormat(bytes: Uint8Array): string {
  let format = "";
  for (const byte of bytes) {
    if (byte === 0x2d && format === "")
      format += "\\055"; // a dash at the beginning would be an option
    else if (byte === 0x25) format += "%%";
    else if (byte === 0x5c) format += "\\\\";
    else if ((byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x09)
      format += String.fromCharCode(byte);
    else format += `\\${byte.toString(8).padStart(3, "0")}`;
  }
  return format;
}
