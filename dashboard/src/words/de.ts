import { boardWords } from "./de/board-words.ts";
import { chatWords } from "./de/chat-words.ts";
import { healthWords } from "./de/health-words.ts";
import { logWords } from "./de/log-words.ts";
import { overviewWords } from "./de/overview-words.ts";
import { problemWords } from "./de/problem-words.ts";
import { sessionWords } from "./de/session-words.ts";
import { shellWords } from "./de/shell-words.ts";
import { taskWords } from "./de/task-words.ts";
import { settingsWords } from "./en/settings-words.ts";
import type { Words } from "./en.ts";

/** All texts of the app in German, by page. */
export const de: Words = {
  shell: shellWords,
  overview: overviewWords,
  sessions: sessionWords,
  chat: chatWords,
  board: boardWords,
  task: taskWords,
  settings: settingsWords,
  logs: logWords,
  health: healthWords,
  problems: problemWords,
};
