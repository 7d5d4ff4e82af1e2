import { SerializeAddon } from "@xterm/addon-serialize";
import { type ITerminalAddon, Terminal as Screen } from "@xterm/headless";
import type { NewTerminal } from "../contract/machines/terminals.ts";
import type { StartTerminal, TerminalProcess } from "./terminal-process.ts";

/** A page may have this much output that it has not processed; then the program has to wait. */
const MAX_UNREAD_BYTES = 64 * 1024;
/** How long the program waits for a page before the page is detached. */
const SLOW_AFTER_MS = 15_000;
/** How much output is read a second while no page shows the terminal, so that a flood does not occupy this process. */
const BYTES_UNWATCHED = 256 * 1024;
const WINDOW_MS = 1_000;
const SCROLLBACK_LINES = 1_000;

/** The page that shows a terminal. */
export interface Viewer {
  /** The output that follows redraws the screen from the beginning. */
  onScreen(columns: number, rows: number): void;
  onOutput(bytes: Buffer): void;
  onExit(code: number): void;
  /** Another page has attached, this one is too slow, or the terminal was closed. */
  onDetached(why: "taken-over" | "slow" | "closed"): void;
}

/** What a page can do while it shows a terminal. Does nothing once the page is detached. */
export interface Attachment {
  write(input: Buffer): void;
  resize(columns: number, rows: number): void;
  /** The page has processed so many bytes. */
  markRead(bytes: number): void;
  detach(): void;
}

/** A program in a terminal, which continues while no page shows it, and its screen. */
export interface Terminal {
  /** Shows the screen to a page, and then its output. The page that showed it before is detached. */
  attach(viewer: Viewer): Attachment;
  isAttached(): boolean;
  /** Its exit code; undefined while it runs. */
  exitCode(): number | undefined;
  /** Ends the program and resolves when it has ended. */
  close(): Promise<void>;
}

interface Shown {
  readonly viewer: Viewer;
  /** False until the screen was sent. */
  isReady: boolean;
  unreadBytes: number;
  slowTimer: NodeJS.Timeout | undefined;
}

export async function openTerminal(
  wanted: NewTerminal,
  start: StartTerminal,
  onExit: () => void,
): Promise<Terminal> {
  const { columns, rows } = wanted;
  const screen = new Screen({ cols: columns, rows, scrollback: SCROLLBACK_LINES, allowProposedApi: true });
  const serializer = new SerializeAddon();
  screen.loadAddon(serializer as unknown as ITerminalAddon); // it uses only what both kinds of terminals have
  let shown: Shown | undefined;
  let exit: number | undefined;
  let unwatchedBytes = 0;
  let windowTimer: NodeJS.Timeout | undefined;
  let isPaused = false;
  let isClosed = false;

  /** Lets the program continue unless somebody has to catch up with its output. */
  const updateReader = (process: TerminalProcess): void => {
    const mustWait =
      shown === undefined
        ? unwatchedBytes >= BYTES_UNWATCHED
        : !shown.isReady || shown.unreadBytes > MAX_UNREAD_BYTES;
    if (mustWait === isPaused) return;
    isPaused = mustWait;
    if (mustWait) process.pause();
    else process.resume();
  };
  const detach = (why: Parameters<Viewer["onDetached"]>[0] | undefined): void => {
    const before = shown;
    shown = undefined;
    clearTimeout(before?.slowTimer);
    if (why !== undefined) before?.viewer.onDetached(why);
  };
  const watchSlowness = (page: Shown): void => {
    clearTimeout(page.slowTimer);
    page.slowTimer = undefined;
    if (page.unreadBytes <= MAX_UNREAD_BYTES) return;
    page.slowTimer = setTimeout(() => {
      if (shown !== page) return;
      detach("slow");
      updateReader(process);
    }, SLOW_AFTER_MS).unref();
  };
  const send = (page: Shown, bytes: Buffer): void => {
    page.unreadBytes += bytes.length;
    page.viewer.onOutput(bytes);
    if (page.slowTimer === undefined) watchSlowness(page);
  };

  const process = await start(wanted, {
    onOutput(bytes) {
      screen.write(bytes);
      if (shown?.isReady) send(shown, bytes);
      if (shown === undefined) {
        unwatchedBytes += bytes.length;
        windowTimer ??= setTimeout(() => {
          windowTimer = undefined;
          unwatchedBytes = 0;
          updateReader(process);
        }, WINDOW_MS).unref();
      }
      updateReader(process);
    },
    onExit(code) {
      exit = code;
      if (shown?.isReady) {
        shown.viewer.onExit(code);
        detach("closed");
      }
      onExit();
    },
  });
  // Answers the questions of the program about its terminal, unless a page got the same output and answers.
  screen.onData((answer) => {
    if (!shown?.isReady && exit === undefined) process.write(Buffer.from(answer));
  });

  const showScreen = (page: Shown): void => {
    // Everything that was read is on the screen when this callback runs, and nothing is read meanwhile.
    screen.write("", () => {
      if (shown !== page || isClosed) return;
      page.viewer.onScreen(screen.cols, screen.rows);
      page.isReady = true;
      send(page, Buffer.from(serializer.serialize({ scrollback: SCROLLBACK_LINES })));
      if (exit !== undefined) {
        page.viewer.onExit(exit);
        detach("closed");
      } else updateReader(process);
    });
  };

  return {
    attach(viewer) {
      detach("taken-over");
      const page: Shown = { viewer, isReady: false, unreadBytes: 0, slowTimer: undefined };
      shown = page;
      if (exit === undefined) updateReader(process);
      showScreen(page);
      const isCurrent = (): boolean => shown === page && exit === undefined;
      return {
        write: (input) => {
          if (isCurrent()) process.write(input);
        },
        resize(toColumns, toRows) {
          if (!isCurrent() || (toColumns === screen.cols && toRows === screen.rows)) return;
          screen.resize(toColumns, toRows);
          process.resize(toColumns, toRows);
        },
        markRead(bytes) {
          if (!isCurrent()) return;
          page.unreadBytes = Math.max(0, page.unreadBytes - bytes);
          watchSlowness(page);
          updateReader(process);
        },
        detach() {
          if (shown !== page) return;
          detach(undefined);
          if (exit === undefined) updateReader(process);
        },
      };
    },
    isAttached: () => shown !== undefined,
    exitCode: () => exit,
    async close() {
      isClosed = true;
      detach("closed");
      clearTimeout(windowTimer);
      if (exit === undefined) await process.end();
      screen.dispose();
    },
  };
}
