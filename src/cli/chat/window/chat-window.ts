import type { Colours, TerminalStreams } from "../../terminal/terminal.ts";
import type { CompletionSource } from "../input/completion-list.ts";
import type { HistoryEntry } from "../input/history.ts";
import { createHistorySearch } from "../input/history-search.ts";
import { createInputLine, type KeyAction } from "../input/input-line.ts";
import type { KeyBindings } from "../input/key-bindings.ts";
import { createKeyboardProtocol } from "../input/keyboard-protocol.ts";
import { createTerminalInput } from "../input/terminal-input.ts";
import type { Panel } from "../panel/panel.ts";
import { createPainter } from "../screen/painter.ts";
import { createScreen, type ScreenSize } from "../screen/screen.ts";
import type { ChatState } from "../state/chat-state.ts";
import type { Entry } from "../state/entry.ts";
import { draw } from "./draw.ts";
import type { FirstFrame } from "./first-frame.ts";
import { createPrinter, type DisplayState } from "./printer.ts";
import { suspendProcess } from "./suspend-process.ts";
import { enterChatModes } from "./terminal-modes.ts";

/** The terminal of a chat: shows entries and the live area, and reports what the user types. */
export interface ChatWindow extends Disposable {
  /** Prints the entries permanently and shows the state in the live area below them. */
  show(state: ChatState, entries: readonly Entry[]): void;
  draft(): string;
  setDraft(text: string): void;
  /** Empties the input line; what was typed is saved in the history. */
  clearDraft(): void;
  /** Inserts a text at the caret. */
  paste(text: string): void;
  /** The draft that was put aside. */
  stash(): string | undefined;
  loadHistory(entries: readonly HistoryEntry[]): void;
  searchHistory(): void;
  /** Opens a panel, which gets all keys until it is closed; the draft is kept. */
  openPanel(panel: Panel): void;
  /** Writes to the terminal directly, without changing what the screen shows. */
  write(text: string): void;
  columns(): number;
  /** How answers and calls are printed from now on. */
  readonly display: DisplayState;
  /** Clears the screen, and with `scrollback` also what has scrolled out of it. */
  clearScreen(scrollback: boolean): void;
  /** Leaves the terminal to another program while `action` runs. */
  lend(action: () => Promise<void>): Promise<void>;
  /** Suspends the process, as Ctrl-Z does in other programs. */
  suspend(): void;
  redraw(): void;
}

export interface ChatWindowParts {
  readonly streams: TerminalStreams;
  readonly colours: Colours;
  keys(): KeyBindings;
  readonly complete: CompletionSource;
  /** `startedTypingAt`: when the user started to type the text. */
  onSubmit(text: string, startedTypingAt: number): void;
  /** Stores a message in the history of later chats. */
  onRemember(text: string): void;
  /** A key that the input line does not handle. */
  onKey(action: KeyAction): void;
  /** The text of the input line may have changed. */
  onDraft(): void;
  /** What to insert instead of a pasted text; undefined for the text itself. Never rejects. */
  takePaste(text: string): Promise<string | undefined> | undefined;
  onClosed(): void;
  /** The frame that is already on the terminal. */
  readonly firstFrame: FirstFrame | undefined;
}

const TICK_MS = 120;
/** The interval while only seconds change. */
const QUIET_TICK_MS = 1_000;
/** Terminals that do not rewrap long lines when the window becomes narrower. */
const NO_REWRAP = /^(?:xterm$|linux)/;
/** Terminals that do not mark what is pasted. */
const NO_PASTE_MARKS = /^(?:linux|dumb|vt|ansi|cons)/;

export const CLEAR_SCREEN = "\u001b[2J\u001b[H";
export const CLEAR_SCROLLBACK = "\u001b[3J";

export function openChatWindow(
  {
    streams,
    colours,
    keys,
    complete,
    onSubmit,
    onRemember,
    onKey,
    onDraft,
    takePaste,
    onClosed,
    firstFrame,
  }: ChatWindowParts,
  initial: ChatState,
): ChatWindow {
  const { stdin, stdout, env } = streams;
  let state = initial;
  let ticker: NodeJS.Timeout | undefined;
  let tickMs = 0;
  let panel: Panel | undefined;
  let lastPrinted: string | undefined; // the id of a question if it was printed last

  const size = (): ScreenSize => ({
    columns: Math.max(10, stdout.columns || 80),
    rows: Math.max(2, stdout.rows || 24),
  });
  const isInTmux = env["TMUX"] !== undefined;
  const screen = createScreen({
    write: (text) => void stdout.write(text),
    size,
    rewraps: isInTmux || !NO_REWRAP.test(env["TERM"] ?? ""),
    drawn: firstFrame?.take(),
  });
  const display: DisplayState = { isRaw: false, wrap: "words", detail: "all" };
  const printer = createPrinter(colours, () => size().columns, display);
  const input = createInputLine({
    keys,
    rows: () => size().rows,
    complete,
    now: () => Date.now(),
    onSubmit,
    onRemember,
    onChange: () => schedule(),
  });

  const live = () =>
    draw(
      {
        ...{ state, tail: printer.tail(), input: input.view(size().columns) },
        ...{ panel: panel?.view(), keys: keys(), size: size(), now: Date.now() },
        isQuestionBuried: state.questions[0]?.approval.id !== lastPrinted,
      },
      colours,
    );
  const painter = createPainter({ screen, stdout, isInTmux, live });
  const { schedule, echo } = painter;

  /** Starts or stops the timer that redraws the seconds and the spinner; an idle chat has none. */
  function updateTicker(): void {
    const hasHint = state.hint !== undefined && Date.now() < state.hint.until;
    const isAsking = state.questions.length > 0;
    const workingMs = state.hasMotion ? TICK_MS : QUIET_TICK_MS;
    const isWorking = state.turn !== undefined || state.commands.length > 0;
    const wanted = isAsking || (hasHint && !isWorking) ? QUIET_TICK_MS : isWorking ? workingMs : 0;
    if (wanted === tickMs) return;
    clearInterval(ticker);
    tickMs = wanted;
    if (wanted > 0) ticker = setInterval(tick, wanted);
  }
  function tick(): void {
    updateTicker();
    schedule();
  }

  /** A dropped file arrives as a paste of its path; the path of an image is replaced by its mark. */
  function insert(text: string): void {
    const image = takePaste(text);
    if (image === undefined) {
      input.paste(text);
      return;
    }
    void image.then((mark) => {
      input.paste(mark ?? text);
      onDraft();
      schedule();
    });
  }
  function openPanel(next: Panel): void {
    panel = next;
    next.connect(schedule);
    schedule();
  }

  const keyboard = createKeyboardProtocol(env);
  const typed = createTerminalInput({
    onKey(sequence) {
      const reply = keyboard.answer(sequence);
      if (reply !== undefined) {
        stdout.write(reply);
        return;
      }
      const open = panel;
      if (open !== undefined) {
        // A panel that closes may have opened another one.
        if (!open.press(sequence, keys()) && panel === open) panel = undefined;
        echo();
        return;
      }
      const situation = { hasQueue: state.queue.length > 0, hasQuestion: state.questions.length > 0 };
      const action = input.press(sequence, situation);
      if (action !== undefined) onKey(action);
      onDraft();
      echo();
    },
    onPaste(text) {
      if (panel !== undefined) panel.paste(text);
      else insert(text);
      onDraft();
      echo();
    },
    marksPastes: !NO_PASTE_MARKS.test(env["TERM"] ?? ""),
    now: () => Date.now(),
  });
  const onData = (data: Buffer | string): void => typed.push(data);
  let modes: Disposable | undefined;
  const enter = (): void => {
    modes = enterChatModes(streams, keyboard);
    typed.entered();
    stdin.on("data", onData);
    painter.start();
  };
  const leave = (): void => {
    painter.stop();
    stdin.off("data", onData);
    modes?.[Symbol.dispose]();
    modes = undefined;
  };
  /** Restores the terminal after a bug or a second Ctrl-C, when nothing else does. */
  const leaveAtExit = (): void => {
    if (modes !== undefined) leave();
  };
  process.once("exit", leaveAtExit);
  stdin.once("end", onClosed);
  enter();

  return {
    show(next, entries) {
      state = next;
      for (const entry of entries) {
        const lines = printer.print(entry);
        if (lines.length > 0) lastPrinted = entry.kind === "question" ? entry.approval.id : undefined;
        painter.append(lines);
      }
      updateTicker();
      schedule();
    },
    draft: input.draft,
    setDraft(text) {
      input.setDraft(text);
      schedule();
    },
    clearDraft() {
      input.clear();
      schedule();
    },
    paste(text) {
      input.paste(text);
      schedule();
    },
    stash: input.stash,
    loadHistory: input.loadHistory,
    searchHistory() {
      openPanel(
        createHistorySearch(input.history(), (text) => {
          if (input.draft() !== "") input.clear();
          input.setDraft(text);
        }),
      );
    },
    openPanel,
    write: (text) => void stdout.write(text),
    columns: () => size().columns,
    display,
    clearScreen(scrollback) {
      leave();
      stdout.write(CLEAR_SCREEN + (scrollback ? CLEAR_SCROLLBACK : ""));
      enter();
    },
    redraw: () => painter.redraw(),
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
      clearInterval(ticker);
      stdin.off("end", onClosed);
      process.off("exit", leaveAtExit);
      typed[Symbol.dispose]();
      leaveAtExit();
      painter[Symbol.dispose]();
    },
  };
}
