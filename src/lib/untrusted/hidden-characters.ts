/** Kinds of invisible characters that can carry a message, with the end of a sentence that describes a text with them. */
const HIDDEN: readonly { readonly reason: string; readonly pattern: RegExp }[] = [
  {
    // The flags of England, Scotland and Wales are written with these characters, after a black flag.
    reason: "contains invisible tag characters",
    pattern: /(?<!\u{1F3F4}[\u{E0061}-\u{E007A}]{0,6})[\u{E0020}-\u{E007E}]{2,}/u,
  },
  { reason: "contains characters that reverse the order of its text", pattern: /[\u202d\u202e]/ },
  {
    reason: "contains a run of invisible characters",
    // biome-ignore lint/suspicious/noMisleadingCharacterClass: each of these characters is meant on its own
    pattern: /[\u200b\u200c\u200d\u2060-\u2064\ufeff]{8,}/,
  },
  { reason: "contains a run of invisible variation selectors", pattern: /[\u{E0100}-\u{E01EF}]{4,}/u },
];

export function findHiddenCharacters(
  text: string,
): { readonly reason: string; readonly quote: string } | undefined {
  for (const { reason, pattern } of HIDDEN) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const points = [...found[0]].slice(0, 3).map((one) => `U+${(one.codePointAt(0) ?? 0).toString(16)}`);
    return { reason, quote: points.join(" ").toUpperCase() };
  }
  return undefined;
}

/** Cyrillic and Greek letters that look like Latin ones. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map([
  ...pairUp("аеорсухіјѕԁһ", "aeopcyxijsdh"),
  ...pairUp("οαινρτυ", "oaivptu"),
  ...pairUp("АВЕКМНОРСТУХΑΒΕΗΙΚΜΝΟΡΤΧ", "ABEKMHOPCTYXABEHIKMNOPTX"),
]);

function pairUp(letters: string, latin: string): [string, string][] {
  return [...letters].map((letter, at) => [letter, latin[at] ?? letter]);
}

const LOOK_ALIKE = new RegExp(`[${[...LOOK_ALIKES.keys()].join("")}]`, "gu");
/** A word that mixes Latin letters with letters of another script is disguised, not foreign. */
const OTHER_SCRIPT = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;
const LATIN = /[a-z]/i;
const IGNORABLE =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each of these characters is meant on its own
  /[\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]/g;

/** The text as a reader sees it: invisible characters removed, compatible forms unified, look-alike letters replaced. */
export function foldLookAlikes(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: most texts are ASCII and need no folding
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  return text
    .replace(IGNORABLE, "")
    .normalize("NFKC")
    .replace(/\p{L}+/gu, (word) =>
      LATIN.test(word) && OTHER_SCRIPT.test(word)
        ? word.replace(LOOK_ALIKE, (letter) => LOOK_ALIKES.get(letter) ?? letter)
        : word,
    );
}
