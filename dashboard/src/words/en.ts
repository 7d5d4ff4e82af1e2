import { boardWords } from "./board-words.ts";
import { modelWords } from "./model-words.ts";
import { overviewWords } from "./overview-words.ts";
import { platformWords } from "./platform-words.ts";
import { problemWords } from "./problem-words.ts";
import { profileWords } from "./profile-words.ts";
import { sessionWords } from "./session-words.ts";
import { settingsWords } from "./settings-words.ts";
import { shellWords } from "./shell-words.ts";
import { taskWords } from "./task-words.ts";

/** All texts of the app in English, by page. */
export const en = {
  shell: shellWords,
  overview: overviewWords,
  sessions: sessionWords,
  board: boardWords,
  task: taskWords,
  settings: settingsWords,
  models: modelWords,
  profiles: profileWords,
  platforms: platformWords,
  problems: problemWords,
};
