import { randomBytes } from "node:crypto";
import type { Clock } from "../../lib/time/clock.ts";

const TICKET_MS = 30_000;
const TICKET_BYTES = 32;
/** More unused tickets than pages could need; the oldest is dropped. */
const MAX_TICKETS = 200;

interface Ticket {
  readonly terminal: string;
  readonly signIn: string;
  readonly expiresAt: number;
}

/** Tickets that open one socket of one terminal each, once, for the sign-in that they were issued to. */
export interface Tickets {
  issue(terminal: string, signIn: string): string;
  /** Whether the ticket opens the terminal. Any attempt uses it up. */
  redeem(ticket: string, terminal: string, signIn: string): boolean;
}

export function createTickets(clock: Pick<Clock, "now">): Tickets {
  const tickets = new Map<string, Ticket>();
  return {
    issue(terminal, signIn) {
      const ticket = randomBytes(TICKET_BYTES).toString("base64url");
      tickets.set(ticket, { terminal, signIn, expiresAt: clock.now() + TICKET_MS });
      const [oldest] = tickets.keys();
      if (tickets.size > MAX_TICKETS && oldest !== undefined) tickets.delete(oldest);
      return ticket;
    },
    redeem(ticket, terminal, signIn) {
      const found = tickets.get(ticket);
      tickets.delete(ticket);
      return (
        found !== undefined &&
        found.terminal === terminal &&
        found.signIn === signIn &&
        clock.now() < found.expiresAt
      );
    },
  };
}
