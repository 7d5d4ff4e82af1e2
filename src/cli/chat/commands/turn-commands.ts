import type { ChatCommand } from "./chat-command.ts";
import { requireStored, wrongUse } from "./command-input.ts";

const BUSY_MODES = ["queue", "steer", "interrupt"] as const;

export const TURN_COMMANDS: readonly ChatCommand[] = [
  {
    name: "retry",
    summary: "undo the last turn and send its message again",
    availability: "idle",
    async run(chat) {
      requireStored(chat);
      const text = await chat.undoLastTurn();
      chat.print(["The last turn is undone, except for what it did to files and the like."]);
      chat.send(text);
    },
  },
  {
    name: "stop",
    summary: "stop the turn and what it runs; jobs keep running",
    availability: "always",
    run: (chat) => chat.stop(),
  },
  {
    name: "queue",
    argument: "[TEXT|list|clear|NUMBER]",
    summary: "send a message after this turn; list, clear or take back the queue",
    availability: "always",
    complete: () => [
      { value: "list", summary: "the queued messages" },
      { value: "clear", summary: "forget them" },
    ],
    run(chat, text) {
      const { queue, turn } = chat.state();
      if (text === "" || text === "list")
        return chat.print(
          queue.length === 0 ? ["Nothing is queued."] : queue.map((one, at) => `${at + 1}. ${one}`),
        );
      if (text === "clear") {
        chat.dispatch({ type: "drop-queue" });
        return chat.print([queue.length === 0 ? "Nothing is queued." : "The queue is empty now."]);
      }
      if (/^\d+$/.test(text)) {
        if (queue[Number(text) - 1] === undefined)
          throw wrongUse(`There is no queued message ${text}.`, "/queue lists them.");
        return chat.dispatch({ type: "take-back", number: Number(text) });
      }
      if (turn === undefined) chat.print(["No turn runs, so the message is sent now."]);
      chat.dispatch({ type: "queue", text });
    },
  },
  {
    name: "steer",
    argument: "TEXT",
    summary: "give the running turn a note",
    availability: "always",
    run(chat, text) {
      if (text === "") throw wrongUse("/steer needs text.", "Type /steer use vitest, not jest");
      if (chat.state().turn === undefined) chat.print(["No turn runs, so the note is sent as a message."]);
      chat.dispatch({ type: "steer", text });
    },
  },
  {
    name: "editor",
    summary: "write the message in $VISUAL or $EDITOR",
    availability: "always",
    run: (chat) => chat.editDraft(),
  },
  {
    name: "busy",
    argument: "[queue|steer|interrupt]",
    summary: "what Enter does while a turn runs, in this chat",
    availability: "always",
    complete: () => BUSY_MODES.map((value) => ({ value, summary: "" })),
    run(chat, word) {
      if (word === "")
        return chat.print([`${chat.state().busyMode}; the setting is display.busy_input_mode`]);
      const mode = BUSY_MODES.find((name) => name === word);
      if (mode === undefined) throw wrongUse(`"${word}" is not a mode.`, `Type ${BUSY_MODES.join(", ")}.`);
      chat.dispatch({ type: "busy-mode", mode });
    },
  },
  {
    name: "image",
    argument: "PATH",
    summary: "attach an image to the message",
    availability: "always",
    run(chat, path) {
      if (path === "") throw wrongUse("/image needs a path.", "Type /image shot.png");
      return chat.attach(path);
    },
  },
  {
    name: "paste",
    summary: "attach the image of the clipboard, or insert its text",
    availability: "always",
    run: (chat) => chat.pasteClipboard(),
  },
];
