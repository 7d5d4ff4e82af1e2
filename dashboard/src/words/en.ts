import { overviewWords } from "./overview-words.ts";
import { problemWords } from "./problem-words.ts";
import { sessionWords } from "./session-words.ts";
import { shellWords } from "./shell-words.ts";

/** Every sentence of the app in English, by page. */
export const en = {
  shell: shellWords,
  overview: overviewWords,
  sessions: sessionWords,
  problems: problemWords,
};
