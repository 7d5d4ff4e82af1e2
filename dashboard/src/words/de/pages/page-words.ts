import type { PageWords } from "../../en/pages/page-words.ts";
import { chatWords } from "./chat-words.ts";
import { healthWords } from "./health-words.ts";
import { logWords } from "./log-words.ts";
import { modelWords } from "./model-words.ts";
import { platformWords } from "./platform-words.ts";
import { profileWords } from "./profile-words.ts";
import { settingsWords } from "./settings-words.ts";
import { terminalWords } from "./terminal-words.ts";

/** The texts in German that only one page needs, by area. */
export const pageWords: PageWords = {
  chat: chatWords,
  settings: settingsWords,
  logs: logWords,
  health: healthWords,
  terminals: terminalWords,
  models: modelWords,
  profiles: profileWords,
  platforms: platformWords,
};
