import { en, type Words } from "./en.ts";
import type { Language } from "./language.ts";

/** The texts in use. They are those of the language after `loadWords`. */
export const words: Words = { ...en };

/** Loads the texts of another language than English, which only its readers download. */
export async function loadWords(language: Language): Promise<void> {
  if (language === "de") Object.assign(words, (await import("./de.ts")).de);
}
