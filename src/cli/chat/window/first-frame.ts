import { createColors } from "picocolors";
import { hasColours } from "../../terminal/has-colours.ts";
import type { Colours, TerminalStreams } from "../../terminal/terminal.ts";
import { findPlainReason } from "../plain/plain-reason.ts";
import { createScreen, type LiveArea } from "../screen/screen.ts";
import { PASTE_OFF, PASTE_ON } from "./terminal-modes.ts";

/**
 * The empty input line, shown while the program of the chat is still being loaded. What is typed meanwhile stays in the
 * terminal's own buffer, unechoed and in its order, until the window of the chat reads it.
 */
export interface FirstFrame {
  /** Hands the frame over to the window that redraws it from now on; undefined if the frame was closed. */
  take(): LiveArea | undefined;
  /** Removes the frame and restores the terminal, unless the frame was taken. */
  close(): void;
}

/** By default these end the process at once, and would leave the terminal in the modes of the chat. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** Undefined where the chat cannot be drawn. */
export function paintFirstFrame(streams: TerminalStreams & NodeJS.Process): FirstFrame | undefined {
  const { stdout, env } = streams;
  // The getter of `stdin` opens it, so it comes last.
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
  // The signals wait until the program that is being loaded handles them.
  const wait = (): void => undefined;
  for (const name of SIGNALS) streams.on(name, wait);
  stdin.setRawMode(true);
  stdout.write(PASTE_ON);
  screen.show([], area);
  let isOpen = true;
  const leave = (): boolean => {
    const wasOpen = isOpen;
    isOpen = false;
    for (const name of SIGNALS) streams.off(name, wait);
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

/** The same rows that `draw` draws before anything is known. */
export function firstLiveArea(columns: number, colours: Colours): LiveArea {
  const status = columns <= 30 ? "asks" : colours.dim("starting");
  return { rows: [`${colours.cyan("❯")} `, status], caret: { row: 0, column: 2 } };
}
