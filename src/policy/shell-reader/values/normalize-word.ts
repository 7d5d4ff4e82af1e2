// Control characters and invisible ones: zero-width characters, direction marks, variation selectors, tags.
const INVISIBLE = /[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu;
const CSI = "\u001b[";

/** Normalizes a word to what a reader sees: without colour codes and invisible characters, full-width letters as ASCII. */
export function normalizeWord(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return withoutColours(text).normalize("NFKC").replace(INVISIBLE, "");
}

/** Removes colour codes and invisible characters from a command; line ends and quotes are kept. */
export function removeInvisible(text: string): string {
  if (!/[^\n\t\x20-\x7e]/.test(text)) return text;
  return withoutColours(text).replace(INVISIBLE, (character) => (/[\n\t]/.test(character) ? character : ""));
}

function withoutColours(text: string): string {
  const [first = "", ...rest] = text.split(CSI);
  return first + rest.map((part) => part.replace(/^[0-9;:?<=>]*[@-~]/, "")).join("");
}
