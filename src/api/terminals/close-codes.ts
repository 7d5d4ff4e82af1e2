import type { TerminalCloseCode } from "../contract/machines/terminals.ts";

/** Why a socket of a terminal was closed. */
export const CLOSE = {
  /** No ticket, or one that was used, is late or belongs to another sign-in. */
  ticket: 4401,
  /** Another web page opened the socket. */
  origin: 4403,
  /** The page did not process the output. It may attach again. */
  slow: 4408,
  /** Another page shows the terminal now. */
  takenOver: 4409,
  /** The program has ended, or the terminal was closed. */
  ended: 4410,
} as const satisfies Record<string, TerminalCloseCode>;
