import type { NewTerminal } from "../contract/machines/terminals.ts";

/** A program in a terminal of its own. */
export interface TerminalProcess {
  write(input: Buffer): void;
  resize(columns: number, rows: number): void;
  /** Stops reading its output, so that the program waits as soon as the buffer of the system is full. */
  pause(): void;
  resume(): void;
  /** Closes the terminal, as by closing its window, and resolves when the program has ended. */
  end(): Promise<void>;
}

export interface TerminalListener {
  onOutput(bytes: Buffer): void;
  onExit(code: number): void;
}

/** Starts the program of a terminal. Throws `AppError` if it cannot be started. */
export type StartTerminal = (wanted: NewTerminal, listener: TerminalListener) => Promise<TerminalProcess>;
