import { boardWords } from "./en/board-words.ts";
import { overviewWords } from "./en/overview-words.ts";
import { problemWords } from "./en/problem-words.ts";
import { sandboxWords } from "./en/sandbox-words.ts";
import { sessionWords } from "./en/session-words.ts";
import { shellWords } from "./en/shell-words.ts";
import { taskWords } from "./en/task-words.ts";

/** The texts in English that every page needs, by area. */
export const en = {
  shell: shellWords,
  overview: overviewWords,
  sessions: sessionWords,
  board: boardWords,
  task: taskWords,
  sandboxes: sandboxWords,
  problems: problemWords,
};

/** The texts that every language must have; a missing one does not compile. */
export type Words = typeof en;
