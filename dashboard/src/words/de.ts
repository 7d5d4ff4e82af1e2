import { boardWords } from "./de/board-words.ts";
import { overviewWords } from "./de/overview-words.ts";
import { problemWords } from "./de/problem-words.ts";
import { sandboxWords } from "./de/sandbox-words.ts";
import { sessionWords } from "./de/session-words.ts";
import { shellWords } from "./de/shell-words.ts";
import { taskWords } from "./de/task-words.ts";
import type { Words } from "./en.ts";

/** The texts in German that every page needs, by area. */
export const de: Words = {
  shell: shellWords,
  overview: overviewWords,
  sessions: sessionWords,
  board: boardWords,
  task: taskWords,
  sandboxes: sandboxWords,
  problems: problemWords,
};
