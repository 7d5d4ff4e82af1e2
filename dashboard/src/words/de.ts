import { boardWords } from "./de/board-words.ts";
import { chatWords } from "./de/chat-words.ts";
import { healthWords } from "./de/health-words.ts";
import { logWords } from "./de/log-words.ts";
import { modelWords } from "./de/model-words.ts";
import { overviewWords } from "./de/overview-words.ts";
import { platformWords } from "./de/platform-words.ts";
import { problemWords } from "./de/problem-words.ts";
import { profileWords } from "./de/profile-words.ts";
import { sandboxWords } from "./de/sandbox-words.ts";
import { sessionWords } from "./de/session-words.ts";
import { settingsWords } from "./de/settings-words.ts";
import { shellWords } from "./de/shell-words.ts";
import { taskWords } from "./de/task-words.ts";
import { terminalWords } from "./de/terminal-words.ts";
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
  models: modelWords,
  profiles: profileWords,
  platforms: platformWords,
  problems: problemWords,
};
