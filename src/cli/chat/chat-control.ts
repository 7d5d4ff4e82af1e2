import { join } from "node:path";
import type { App } from "../../app/app.ts";
import { ensurePrivateFolder } from "../../lib/files/files.ts";
import type { PolicyState } from "../../policy/policy.ts";
import type { CommandContext } from "../context.ts";
import { currentFolder } from "../terminal/current-folder.ts";
import { modeOf, nextMode } from "./approval-mode.ts";
import { captureCommand, editText, pageText, runInTerminal } from "./child-programs.ts";
import { copyText } from "./clipboard.ts";
import type { ChatControl } from "./commands/chat-command.ts";
import type { AttachedImages } from "./input/attached-images.ts";
import { readClipboard } from "./input/read-clipboard.ts";
import type { ChatPanels } from "./panel/chat-panels.ts";
import { readWholeOutput } from "./saved-output.ts";
import type { Update } from "./state/chat-state.ts";
import type { ChatWindow } from "./window/chat-window.ts";

/** What the rest of the chat gives to its commands. */
export interface ChatControlParts
  extends Pick<
    ChatControl,
    | "state"
    | "keys"
    | "dispatch"
    | "call"
    | "calls"
    | "answers"
    | "open"
    | "openNew"
    | "reopen"
    | "reasoning"
    | "undoLastTurn"
    | "leave"
    | "isStored"
  > {
  readonly app: App;
  readonly context: CommandContext;
  readonly policy: PolicyState;
  readonly window: ChatWindow;
  readonly images: AttachedImages;
  readonly panels: ChatPanels;
  apply(update: Update): void;
}

/** The chat as its slash commands see it. */
export function createChatControl(
  parts: ChatControlParts,
): ChatControl & { /** Ends the programs that commands have started. */ stopCommands(): void } {
  const { app, context, policy, window, images, panels, state, dispatch, apply } = parts;
  const { variables } = context;
  const setPolicy: ChatControl["setPolicy"] = (change) => {
    Object.assign(policy, change);
    dispatch({ type: "mode", mode: modeOf(policy) });
  };
  const print: ChatControl["print"] = (lines) =>
    apply({ state: state(), entries: [{ kind: "lines", lines }], effects: [] });
  let stopping = new AbortController();
  const argv = (words: readonly string[]): string[] => ["-p", app.profile.name, ...words];
  return {
    ...parts,
    print,
    setPolicy,
    pickSession: panels.pickSession,
    pickModel: panels.pickModel,
    palette: panels.palette,
    usage: panels.usage,
    todos: panels.todos,
    deleteSession: panels.deleteSession,
    display: window.display,
    clearScreen: window.clearScreen,
    setDraft: window.setDraft,
    send: (text) => dispatch({ type: "queue", text }),
    cycleMode: () => setPolicy(nextMode(policy)),
    isYolo: () => policy.isYolo,
    isPlanning: () => policy.isPlanning,
    stop: () => dispatch({ type: "key", key: "stop", draft: "" }),
    async runCli(words) {
      const { signal } = stopping;
      const lines = await captureCommand(argv(words), variables, signal, print);
      if (signal.aborted) print(["Stopped."]);
      return lines;
    },
    async pageCli(words) {
      const lines = await captureCommand(argv(words), variables, stopping.signal);
      await window.lend(() => pageText(`${lines.join("\n")}\n`, context));
    },
    stopCommands() {
      stopping.abort();
      stopping = new AbortController();
    },
    runInTerminal: (words) => window.lend(() => runInTerminal(argv(words), context)),
    async copy(text) {
      const folder = join(app.profile.home, "cache");
      await ensurePrivateFolder(folder);
      return copyText(text, { variables, write: window.write, file: join(folder, "copied.md") });
    },
    async attach(path) {
      window.paste(await images.require(path, currentFolder()));
    },
    async pasteClipboard() {
      const found = await readClipboard(variables);
      if ("problem" in found) dispatch({ type: "notice", text: found.problem });
      else window.paste("image" in found ? images.addBytes(found.image, "clipboard.png") : found.text);
    },
    wholeOutput: (body) => readWholeOutput(body, join(app.profile.home, "cache", "terminal-output")),
    page: (text) => window.lend(() => pageText(text, context)),
    editDraft: () =>
      window.lend(async () => {
        window.setDraft(await editText(window.draft(), context));
      }),
  };
}
