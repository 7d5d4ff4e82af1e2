import { boardWords } from "./de/board-words.ts";
import { chatWords } from "./de/chat-words.ts";
import { healthWords } from "./de/health-words.ts";
import { logWords } from "./de/log-words.ts";
import { overviewWords } from "./de/overview-words.ts";
import { problemWords } from "./de/problem-words.ts";
import { sessionWords } from "./de/session-words.ts";
import { settingsWords } from "./de/settings-words.ts";
import { shellWords } from "./de/shell-words.ts";
import { taskWords } from "./de/task-words.ts";
import { sandboxWords } from "./en/sandbox-words.ts";
import { terminalWords } from "./en/terminal-words.ts";
import type { Words } from "./en.ts";

/** All texts of the app in German, by page. */
export const de: Words = {
  shell: shellWords,
  overview: overviewWords,
  sessions: sessionWords,
  board: boardWords,
  task: taskWords,
  chat: chatWords,
  settings: settingsWords,
  logs: logWords,
  health: healthWords,
  sandboxes: sandboxWords,
  terminals: terminalWords,
  problems: problemWords,
};
