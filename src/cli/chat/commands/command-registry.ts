import { findClosest } from "../../../lib/text/did-you-mean.ts";
import type { ChatCommand, ChatControl } from "./chat-command.ts";
import { wrongUse } from "./command-input.ts";
import { DISPLAY_COMMANDS } from "./display-commands.ts";
import { commandPage, helpOf, helpPage, keyPage } from "./help-page.ts";
import { PROGRAM_COMMANDS } from "./program-commands.ts";
import { SAFETY_COMMANDS } from "./safety-commands.ts";
import { SESSION_COMMANDS } from "./session-commands.ts";
import { TURN_COMMANDS } from "./turn-commands.ts";

const HELP: readonly ChatCommand[] = [
  {
    name: "help",
    aliases: ["?"],
    argument: "[COMMAND|all]",
    summary: "keys and commands",
    availability: "always",
    complete: () => CHAT_COMMANDS.map(({ name, summary }) => ({ value: name, summary })),
    run(chat, word) {
      if (word === "") chat.print(helpPage(CHAT_COMMANDS, chat.keys()));
      else if (word === "all") chat.print(commandPage(CHAT_COMMANDS));
      else chat.print(helpOn(toName(word)));
    },
  },
  {
    name: "palette",
    summary: "commands, models and sessions in one list",
    availability: "always",
    run: (chat) => chat.palette(),
  },
  {
    name: "keys",
    summary: "all keys, and the settings that change them",
    availability: "always",
    run: (chat) => chat.print(keyPage(chat.keys())),
  },
];

/** All slash commands. A command is listed only once it is implemented. */
export const CHAT_COMMANDS: readonly ChatCommand[] = [
  ...HELP,
  ...SESSION_COMMANDS,
  ...TURN_COMMANDS,
  ...DISPLAY_COMMANDS,
  ...SAFETY_COMMANDS,
  ...PROGRAM_COMMANDS,
];

/** The help of one command, or a list of all commands whose name or summary contains the word. */
function helpOn(word: string): string[] {
  const found = CHAT_COMMANDS.filter((row) => `${row.name} ${row.summary}`.toLowerCase().includes(word));
  const isName = found.some(({ name, aliases }) => name === word || aliases?.includes(word));
  return isName || found.length === 0 ? helpOf(findCommand(word)) : commandPage(found);
}

function toName(word: string): string {
  return word.replace(/^\//, "").toLowerCase();
}

/** Finds a command by its name, an alias or a unique prefix. */
export function findCommand(name: string): ChatCommand {
  const exact = CHAT_COMMANDS.find((row) => row.name === name || row.aliases?.includes(name));
  if (exact !== undefined) return exact;
  const near = CHAT_COMMANDS.filter((row) => row.name.startsWith(name));
  const [only] = near;
  if (only !== undefined && near.length === 1) return only;
  const names = near.length > 1 ? near.map((row) => `/${row.name}`).join(" or ") : findNearestName(name);
  throw wrongUse(
    `There is no command /${name}; nothing was sent.`,
    names === undefined
      ? "/help lists the commands. //text sends text with a slash."
      : `Did you mean ${names}?`,
  );
}

function findNearestName(name: string): string | undefined {
  const found = findClosest(
    name,
    CHAT_COMMANDS.map((row) => row.name),
  );
  return found === undefined ? undefined : `/${found}`;
}

/** Runs a command. Throws if the command needs an idle chat while a turn or such a command is running. */
export async function runChatCommand(chat: ChatControl, name: string, argument: string): Promise<void> {
  const command = findCommand(name);
  if (command.availability === "idle" && chat.state().turn !== undefined) {
    const key = chat.keys().label("stop");
    throw wrongUse(
      `/${command.name} needs the turn to have ended.`,
      `Stop it with ${key ?? "/stop"}, or wait.`,
    );
  }
  const running = chat.state().commands.find(({ isExclusive }) => isExclusive);
  if (command.availability === "idle" && running !== undefined)
    throw wrongUse(`/${command.name} waits until ${running.text} has ended.`, "Stop that one, or wait.");
  const text = `/${command.name}`;
  chat.dispatch({ type: "command-start", text, isExclusive: command.availability === "idle" });
  try {
    await command.run(chat, argument);
  } finally {
    chat.dispatch({ type: "command-end", text });
  }
}
