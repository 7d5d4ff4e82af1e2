import { boardWords } from "./board-words.ts";
import { overviewWords } from "./overview-words.ts";
import { problemWords } from "./problem-words.ts";
import { sandboxWords } from "./sandbox-words.ts";
import { sessionWords } from "./session-words.ts";
import { shellWords } from "./shell-words.ts";
import { taskWords } from "./task-words.ts";
import { terminalWords } from "./terminal-words.ts";

/** All texts of the app in English, by page. */
export const en = {
  shell: shellWords,
  overview: overviewWords,
  sessions: sessionWords,
  sandboxes: sandboxWords,
  board: boardWords,
  task: taskWords,
  terminals: terminalWords,
  problems: problemWords,
};
