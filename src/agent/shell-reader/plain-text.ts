// Control characters, and what is not shown at all: zero-width and direction marks, variation selectors, tags.
const INVISIBLE = /[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu;
const CSI = "\u001b[";

/** A word as a reader sees it: without colours and invisible characters, full-width letters as plain ones. */
export function plainText(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return withoutColours(text).normalize("NFKC").replace(INVISIBLE, "");
}

/** A whole command without colours and invisible characters; line ends and quotes stay where they are. */
export function visibleText(text: string): string {
  if (!/[^\n\t\x20-\x7e]/.test(text)) return text;
  return withoutColours(text).replace(INVISIBLE, (character) => (/[\n\t]/.test(character) ? character : ""));
}

function withoutColours(text: string): string {
  const [first = "", ...rest] = text.split(CSI);
  return first + rest.map((part) => part.replace(/^[0-9;:?<=>]*[@-~]/, "")).join("");
}
