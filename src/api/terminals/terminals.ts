import { randomUUID } from "node:crypto";
import type { Clock } from "../../lib/time/clock.ts";
import { ApiError } from "../api-error.ts";
import type { NewTerminal, TerminalRow, TerminalTicket } from "../contract/machines/terminals.ts";
import { type Attachment, openTerminal, type Terminal, type Viewer } from "./terminal.ts";
import type { StartTerminal } from "./terminal-process.ts";
import { createTickets } from "./tickets.ts";

const MAX_TERMINALS = 20;
/** How long a terminal stays open while no page shows it. */
const UNWATCHED_MS = 12 * 3_600_000;
/** How long the last screen of a program that has ended can still be read. */
const ENDED_MS = 60_000;

/** The open terminals of a server. Any sign-in with the scope `shell` can show each of them. */
export interface Terminals extends AsyncDisposable {
  open(wanted: NewTerminal, signIn: string): Promise<TerminalTicket>;
  list(): TerminalRow[];
  /** Throws if there is no such terminal. */
  issueTicket(id: string, signIn: string): TerminalTicket;
  /** Attaches a page that has a ticket; undefined if the ticket does not open the terminal. */
  attach(
    place: { readonly id: string; readonly ticket: string; readonly signIn: string },
    viewer: Viewer,
  ): Attachment | undefined;
  /** Ends the program of a terminal. Throws if there is no such terminal. */
  close(id: string): Promise<void>;
  count(): number;
}

interface OpenTerminal {
  readonly row: Omit<TerminalRow, "isAttached">;
  readonly terminal: Terminal;
  /** Closes the terminal when no page has shown it for a long time. */
  timer: NodeJS.Timeout | undefined;
}

export function openTerminals({
  start,
  clock,
  onError,
}: {
  readonly start: StartTerminal;
  readonly clock: Clock;
  onError(error: unknown): void;
}): Terminals {
  const terminals = new Map<string, OpenTerminal>();
  const tickets = createTickets(clock);
  const closing = new Set<Promise<void>>();
  let starting = 0;
  let isDisposed = false;

  const close = (id: string): Promise<void> => {
    const open = terminals.get(id);
    terminals.delete(id);
    clearTimeout(open?.timer);
    const closed = (open?.terminal.close() ?? Promise.resolve()).catch(onError);
    closing.add(closed);
    return closed.finally(() => closing.delete(closed));
  };
  const closeLater = (id: string, afterMs: number): void => {
    const open = terminals.get(id);
    if (open === undefined) return;
    clearTimeout(open.timer);
    open.timer = setTimeout(() => void close(id), afterMs).unref();
  };
  const require = (id: string): OpenTerminal => {
    const open = terminals.get(id);
    if (open !== undefined) return open;
    throw new ApiError(404, "terminal_not_found", "This terminal has ended.");
  };

  return {
    async open(wanted, signIn) {
      if (terminals.size + starting >= MAX_TERMINALS)
        throw new ApiError(
          429,
          "terminals_full",
          `${MAX_TERMINALS} terminals are open.`,
          undefined,
          "Close one of them first.",
        );
      const id = randomUUID();
      starting += 1;
      try {
        const onExit = (): void => {
          const open = terminals.get(id);
          if (open?.terminal.isAttached()) return; // the screen is being sent
          closeLater(id, ENDED_MS);
        };
        const terminal = await openTerminal(wanted, start, onExit);
        if (isDisposed) {
          await terminal.close();
          throw new ApiError(503, "dashboard_stopped", "The dashboard is stopping.");
        }
        terminals.set(id, { row: describe(id, wanted, clock.now()), terminal, timer: undefined });
        closeLater(id, terminal.exitCode() === undefined ? UNWATCHED_MS : ENDED_MS);
      } finally {
        starting -= 1;
      }
      return { id, ticket: tickets.issue(id, signIn) };
    },
    list: () =>
      [...terminals.values()]
        .filter(({ terminal }) => terminal.exitCode() === undefined)
        .map(({ row, terminal }) => ({ ...row, isAttached: terminal.isAttached() })),
    issueTicket: (id, signIn) => ({ id: require(id).row.id, ticket: tickets.issue(id, signIn) }),
    attach({ id, ticket, signIn }, viewer) {
      const isValid = tickets.redeem(ticket, id, signIn);
      const open = terminals.get(id);
      if (!isValid || open === undefined) return undefined;
      clearTimeout(open.timer);
      const attachment = open.terminal.attach({
        ...viewer,
        onExit(code) {
          viewer.onExit(code);
          void close(id);
        },
        onDetached(why) {
          viewer.onDetached(why);
          if (why === "slow") closeLater(id, UNWATCHED_MS);
        },
      });
      return {
        ...attachment,
        detach() {
          attachment.detach();
          if (!open.terminal.isAttached())
            closeLater(id, open.terminal.exitCode() === undefined ? UNWATCHED_MS : ENDED_MS);
        },
      };
    },
    close: (id) => close(require(id).row.id),
    count: () => terminals.size,
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      for (const id of [...terminals.keys()]) void close(id);
      await Promise.all(closing);
    },
  };
}

function describe(id: string, wanted: NewTerminal, startedAt: number): OpenTerminal["row"] {
  const { kind, profile } = wanted;
  const subject =
    wanted.kind === "chat"
      ? (wanted.session ?? null)
      : wanted.kind === "job"
        ? `${wanted.task} ${wanted.job}`
        : wanted.task;
  return { id, kind, profile, subject, startedAt };
}
