import { configKeys } from "../../../config/config-keys.ts";
import type { ChatCommand } from "./chat-command.ts";
import { splitWords, wrongUse } from "./command-input.ts";

export const PROGRAM_COMMANDS: readonly ChatCommand[] = [
  {
    name: "config",
    argument: "[KEY [VALUE]]",
    summary: "show or change settings; a secret is asked for",
    availability: "always",
    complete: () => configKeys().map(({ key, description }) => ({ value: key, summary: description })),
    run(chat, text) {
      const [key, ...value] = splitWords(text);
      if (key === undefined) return chat.runCli(["config", "show"]);
      if (configKeys().some((row) => row.key === key && row.secret)) {
        if (value.length === 0) return chat.runInTerminal(["config", "set", key]);
        throw wrongUse(
          "A secret is not typed into the input line.",
          `Type /config ${key} alone; you are then asked for it.`,
        );
      }
      return chat.runCli(
        value.length === 0 ? ["config", "explain", key] : ["config", "set", key, value.join(" ")],
      );
    },
  },
  {
    name: "jobs",
    argument: "[ID|kill ID|--all]",
    summary: "commands that run in the background, or the output of one",
    availability: "always",
    run(chat, text) {
      const [first, ...rest] = splitWords(text);
      const isId = first?.startsWith("proc_") === true && rest.length === 0;
      return chat.runCli(["sandbox", "jobs", ...(isId ? ["log"] : []), ...splitWords(text)]);
    },
  },
  {
    name: "profile",
    argument: "[VERB]",
    summary: "the profile of this chat, and others",
    availability: "always",
    run: (chat, text) => chat.runCli(["profile", ...(text === "" ? ["show"] : splitWords(text))]),
  },
  {
    name: "logs",
    argument: "[VERB]",
    summary: "the last lines of the log",
    availability: "always",
    run: (chat, text) => chat.runCli(["logs", ...splitWords(text)]),
  },
  {
    name: "sandbox",
    argument: "[VERB]",
    summary: "the sandbox of this profile",
    availability: "always",
    run: (chat, text) => chat.runCli(["sandbox", ...(text === "" ? ["status"] : text.split(/\s+/))]),
  },
  {
    name: "kanban",
    argument: "[VERB]",
    summary: "the board",
    availability: "always",
    run: (chat, text) => chat.runCli(["kanban", ...splitWords(text)]),
  },
  {
    name: "doctor",
    summary: "check this machine",
    availability: "always",
    run: (chat) => chat.runCli(["doctor"]),
  },
  {
    name: "quit",
    aliases: ["exit"],
    summary: "leave the chat",
    availability: "always",
    argument: "[--delete]",
    complete: () => [{ value: "--delete", summary: "delete the session, too" }],
    async run(chat, text) {
      const id = chat.state().facts?.sessionId;
      if (text === "--delete" && id !== undefined) {
        if (chat.state().turn !== undefined)
          throw wrongUse("A session is not deleted while its turn runs.", "Stop the turn first.");
        await chat.deleteSession(id);
      }
      chat.leave();
    },
  },
];
