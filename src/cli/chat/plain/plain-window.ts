import { createTerminalInput } from "../input/terminal-input.ts";
import type { Panel } from "../panel/panel.ts";
import type { ChatState } from "../state/chat-state.ts";
import {
  type ChatWindow,
  type ChatWindowParts,
  CLEAR_SCREEN,
  CLEAR_SCROLLBACK,
} from "../window/chat-window.ts";
import type { DisplayState } from "../window/printer.ts";
import { suspendProcess } from "../window/suspend-process.ts";
import { createPlainLine } from "./plain-line.ts";
import { createPlainPrinter, MAX_LINE_WIDTH } from "./plain-printer.ts";

/** Output is collected for this long, so that the line that is being typed is repeated less often. */
const GATHER_MS = 100;
const STILL_WORKING_MS = 30_000;
const MAX_ROWS = 20;
const DOWN = "\u001b[B";
const PASTE_ON = "\u001b[?2004h";
const PASTE_OFF = "\u001b[?2004l";

/** Opens a chat of whole lines that are never redrawn, for screen readers and for terminals that cannot move their cursor. */
export function openPlainWindow(
  { streams, keys, onSubmit, onRemember, onKey, onDraft, takePaste, onClosed }: ChatWindowParts,
  initial: ChatState,
  /** What turned this mode on. */
  reason: string,
): ChatWindow {
  const { stdin, stdout, env } = streams;
  const marksPastes = env["TERM"] !== "dumb";
  const display: DisplayState = { isRaw: false, wrap: "words", detail: "all" };
  const printer = createPlainPrinter(display);
  let state = initial;
  let pending: string[] = [];
  let gathering: NodeJS.Timeout | undefined;
  let working: NodeJS.Timeout | undefined;
  let panel: Panel | undefined;
  let typed = ""; // the last message, which was echoed while it was typed
  let isOpen = false;

  const echo = (text: string): void => {
    if (isOpen) stdout.write(text);
  };
  const line = createPlainLine({
    keys,
    echo,
    now: () => Date.now(),
    onSubmit(text, startedTypingAt) {
      if (panel !== undefined) return choose(panel, text.trim());
      typed = text.trim();
      if (typed !== "") onRemember(text);
      onSubmit(text, startedTypingAt);
    },
  });

  function flush(): void {
    clearTimeout(gathering);
    gathering = undefined;
    if (pending.length === 0 || !isOpen) return;
    const draft = line.text();
    const lines = pending.join("\r\n");
    pending = [];
    stdout.write(`${draft === "" ? "" : "\r\n"}${lines}\r\n${displayedDraft(draft)}`);
  }
  function print(lines: readonly string[]): void {
    pending.push(...lines);
    if (pending.length > 0) gathering ??= setTimeout(flush, GATHER_MS);
  }
  function updateWorkingTimer(): void {
    const { turn, questions } = state;
    if ((turn !== undefined && questions.length === 0) === (working !== undefined)) return;
    clearInterval(working);
    working = undefined;
    if (turn === undefined || questions.length > 0) return;
    working = setInterval(() => {
      print([`notice: still working, ${Math.round((Date.now() - turn.startedAt) / 1_000)} s`]);
    }, STILL_WORKING_MS);
  }

  function showPanel(shown: Panel): void {
    const { title, rows, total } = shown.view();
    print([
      `list: ${title}, ${rows.length} of ${total}`,
      ...rows.slice(0, MAX_ROWS).map((row, at) => `list: ${at + 1} ${row.text().trim()}`),
      "list: type a number and Enter, other words to search, or nothing to leave.",
    ]);
  }
  function choose(open: Panel, answer: string): void {
    const number = Number(answer);
    if (answer === "") panel = undefined;
    else if (Number.isInteger(number) && number >= 1 && number <= open.view().rows.length) {
      panel = undefined;
      for (let at = 1; at < number; at++) open.press(DOWN, keys());
      open.press("\r", keys());
    } else {
      open.press("\u0015", keys());
      open.paste(answer);
      showPanel(open);
    }
  }

  const input = createTerminalInput({
    onKey(sequence) {
      const action = line.press(sequence);
      if (action === "stop" && panel !== undefined) panel = undefined;
      else if (action !== undefined) onKey(action);
      onDraft();
    },
    onPaste(text) {
      const image = takePaste(text);
      if (image === undefined) line.paste(text);
      else void image.then((mark) => line.paste(mark ?? text));
      onDraft();
    },
    marksPastes,
    now: () => Date.now(),
  });
  const onData = (data: Buffer | string): void => input.push(data);
  function enter(): void {
    isOpen = true;
    input.entered();
    stdin.setRawMode(true);
    stdin.resume();
    stdin.on("data", onData);
    if (marksPastes) stdout.write(PASTE_ON);
    flush();
  }
  function leave(): void {
    flush();
    isOpen = false;
    stdin.off("data", onData);
    stdin.pause();
    if (!stdin.destroyed) stdin.setRawMode(false);
    if (marksPastes) stdout.write(PASTE_OFF);
  }
  /** Restores the terminal after a bug or a second Ctrl-C, when nothing else does. */
  const leaveAtExit = (): void => {
    if (isOpen) leave();
  };
  process.once("exit", leaveAtExit);
  stdin.once("end", onClosed);
  enter();
  print([`notice: screen reader mode is on, by ${reason}. Nothing is redrawn. /help lists the commands.`]);
  flush();

  return {
    show(next, entries) {
      const before = state;
      state = next;
      const lines = entries.flatMap((entry) => {
        const isEcho = entry.kind === "user" && entry.text.trim() === typed;
        if (!isEcho) return printer.print(entry);
        typed = "";
        return printer.print({ ...entry, text: "" }); // the text was echoed while it was typed
      });
      print([...printer.announce(before, next), ...lines]);
      updateWorkingTimer();
    },
    draft: line.text,
    setDraft(text) {
      line.set(text);
      echo(displayedDraft(text));
    },
    clearDraft() {
      line.set("");
      print(["notice: the line is empty"]);
    },
    paste: line.paste,
    display,
    clearScreen(scrollback) {
      if (marksPastes) stdout.write(CLEAR_SCREEN + (scrollback ? CLEAR_SCROLLBACK : ""));
      else print(["notice: this terminal cannot be cleared"]);
    },
    stash: () => undefined,
    loadHistory: () => undefined,
    searchHistory: () => print(["notice: search earlier sessions with /search WORDS"]),
    openPanel(next) {
      panel = next;
      showPanel(next);
    },
    write: (text) => void stdout.write(text),
    columns: () => MAX_LINE_WIDTH,
    redraw: () => print(line.text() === "" ? [] : [`you: ${line.text()}`]),
    async lend(action) {
      leave();
      try {
        await action();
      } finally {
        enter();
      }
    },
    suspend: () => suspendProcess(leave, enter),
    [Symbol.dispose]() {
      clearInterval(working);
      stdin.off("end", onClosed);
      process.off("exit", leaveAtExit);
      input[Symbol.dispose]();
      leaveAtExit();
    },
  };
}

/** A draft as the terminal shows it. */
function displayedDraft(draft: string): string {
  return draft === "" ? "" : `you: ${draft.replaceAll("\n", "\r\n")}`;
}
