export const LANGUAGES = ["en", "de"] as const;
export type Language = (typeof LANGUAGES)[number];

const STORED = "hermes-language";

/** The language chosen in this browser; undefined if it follows the languages of the browser. */
export function readChosenLanguage(): Language | undefined {
  const stored = globalThis.localStorage?.getItem(STORED);
  return LANGUAGES.find((language) => language === stored);
}

/** Chooses a language for this browser, or with undefined the browser's own. Open pages show it after a reload. */
export function chooseLanguage(language: Language | undefined): void {
  if (language === undefined) localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, language);
}

/** The first language of the browser that the app has; otherwise English. */
export function findLanguage(preferred: readonly string[]): Language {
  const known = preferred.map((tag) => LANGUAGES.find((language) => language === tag.split("-")[0]));
  return known.find((language) => language !== undefined) ?? "en";
}

/** The language of this page. */
export const language: Language = readChosenLanguage() ?? findLanguage(globalThis.navigator?.languages ?? []);
