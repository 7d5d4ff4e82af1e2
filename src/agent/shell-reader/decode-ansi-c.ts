const LETTERS: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};
const ESCAPE =
  /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c([\s\S])|([\s\S]))/g;

/** The text that `$'…'` stands for, given what is between the quotes. */
export function decodeAnsiC(text: string): string {
  const decoded = text.replace(ESCAPE, (whole, hex, short, long, octal, control, letter) => {
    const digits: string | undefined = hex ?? short ?? long;
    if (digits !== undefined) return characterOf(Number.parseInt(digits, 16));
    if (octal !== undefined) return characterOf(Number.parseInt(octal, 8) & 0xff);
    if (control !== undefined) return characterOf(String(control).charCodeAt(0) & 0x1f);
    if (letter === "\\" || letter === "'" || letter === '"' || letter === "?") return letter;
    return LETTERS[letter] ?? whole;
  });
  // The shell's strings end at a NUL, so what follows it never reaches the program.
  const end = decoded.indexOf("\0");
  return end < 0 ? decoded : decoded.slice(0, end);
}

function characterOf(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "";
}
