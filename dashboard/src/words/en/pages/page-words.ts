import { chatWords } from "./chat-words.ts";
import { healthWords } from "./health-words.ts";
import { logWords } from "./log-words.ts";
import { modelWords } from "./model-words.ts";
import { platformWords } from "./platform-words.ts";
import { profileWords } from "./profile-words.ts";
import { settingsWords } from "./settings-words.ts";
import { terminalWords } from "./terminal-words.ts";

/** The texts in English that only one page needs, by area. */
export const pageWords = {
  chat: chatWords,
  settings: settingsWords,
  logs: logWords,
  health: healthWords,
  terminals: terminalWords,
  models: modelWords,
  profiles: profileWords,
  platforms: platformWords,
};

/** The texts that every language must have for its pages; a missing one does not compile. */
export type PageWords = typeof pageWords;
