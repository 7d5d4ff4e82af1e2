import { createColors } from "picocolors";
import { hasColours } from "../../terminal/has-colours.ts";
import type { Colours, TerminalStreams } from "../../terminal/terminal.ts";
import { findPlainReason } from "../plain/plain-reason.ts";
import { createScreen, type LiveArea } from "../screen/screen.ts";
import { PASTE_OFF, PASTE_ON } from "./terminal-modes.ts";

/**
 * The empty input line, shown while the chat is still being loaded. Keys typed meanwhile stay in the terminal's own buffer, in
 * order and without echo, until the chat window reads them.
 */
export interface FirstFrame {
  /** Hands the frame over to the window that redraws it from now on; undefined if the frame was closed. */
  take(): LiveArea | undefined;
  /** Removes the frame and restores the terminal, unless the frame was taken. */
  close(): void;
}

/** By default, these signals end the process immediately, which would leave the terminal in raw mode. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** Undefined where the chat cannot be drawn. */
export function paintFirstFrame(streams: TerminalStreams & NodeJS.Process): FirstFrame | undefined {
  const { stdout, env } = streams;
  // Reading `stdin` opens it, so it is checked last.
  if (!stdout.isTTY || findPlainReason(undefined, env) !== undefined || !streams.stdin.isTTY)
    return undefined;
  const { stdin } = streams;
  const columns = stdout.columns || 80;
  const screen = createScreen({
    write: (text) => void stdout.write(text),
    size: () => ({ columns, rows: stdout.rows }),
    rewraps: false,
  });
  const area = firstLiveArea(columns, createColors(hasColours(streams)));
  // Loading is synchronous, so a signal is delivered only after the loaded program has added its own handlers.
  const ignore = (): void => undefined;
  for (const name of SIGNALS) streams.on(name, ignore);
  stdin.setRawMode(true);
  stdout.write(PASTE_ON);
  screen.show([], area);
  let isOpen = true;
  const leave = (): boolean => {
    const wasOpen = isOpen;
    isOpen = false;
    for (const name of SIGNALS) streams.off(name, ignore);
    return wasOpen;
  };
  return {
    take: () => (leave() ? area : undefined),
    close() {
      if (!leave()) return;
      screen.clear();
      stdin.setRawMode(false);
      stdout.write(PASTE_OFF);
    },
  };
}

/** The rows that `draw` returns for the initial state. */
export function firstLiveArea(columns: number, colours: Colours): LiveArea {
  const status = columns <= 30 ? "asks" : colours.dim("starting");
  return { rows: [`${colours.cyan("❯")} `, status], caret: { row: 0, column: 2 } };
}
