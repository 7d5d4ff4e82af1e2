import { boardWords } from "./en/board-words.ts";
import { chatWords } from "./en/chat-words.ts";
import { healthWords } from "./en/health-words.ts";
import { logWords } from "./en/log-words.ts";
import { overviewWords } from "./en/overview-words.ts";
import { problemWords } from "./en/problem-words.ts";
import { sandboxWords } from "./en/sandbox-words.ts";
import { sessionWords } from "./en/session-words.ts";
import { settingsWords } from "./en/settings-words.ts";
import { shellWords } from "./en/shell-words.ts";
import { taskWords } from "./en/task-words.ts";
import { terminalWords } from "./en/terminal-words.ts";

/** All texts of the app in English, by page. */
export const en = {
  shell: shellWords,
  overview: overviewWords,
  sessions: sessionWords,
  chat: chatWords,
  board: boardWords,
  task: taskWords,
  settings: settingsWords,
  logs: logWords,
  health: healthWords,
  sandboxes: sandboxWords,
  terminals: terminalWords,
  problems: problemWords,
};

/** The texts that every language must have; a missing one does not compile. */
export type Words = typeof en;
