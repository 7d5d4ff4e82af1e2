import { language } from "./language.ts";

/** The texts that only some pages need. They are downloaded with the first such page, because the start page has to be small. */
export const { pageWords } = await (language === "de"
  ? import("./de/pages/page-words.ts")
  : import("./en/pages/page-words.ts"));
