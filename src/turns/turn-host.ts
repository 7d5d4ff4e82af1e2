import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { AgentEventOf } from "../agent/events.ts";
import type { TurnLimits } from "../agent/turn-limits.ts";
import type { Answer, Approval } from "../approvals/approval.ts";
import type { Exchange } from "../conversation/conversation.ts";
import type { ConversationRequest, Surface } from "../conversation/conversation-request.ts";
import type { OpenConversation } from "../conversation/open-conversation.ts";
import { AppError, messageOf } from "../lib/errors.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { ImagePart, UserMessage } from "../providers/message.ts";
import type { ReasoningEffort } from "../providers/provider.ts";
import type { RouteRequest } from "../providers/routes/choose-provider.ts";
import { createTurnJournal, JOURNAL_SIZE, type JournalItem, type JournalSize } from "./turn-journal.ts";

/** How a session is opened for a turn. A conversation that is open stays in use while this does not change. */
export interface SessionOpening {
  readonly surface: Surface;
  readonly model?: RouteRequest | undefined;
  readonly reasoningEffort?: ReasoningEffort | undefined;
  /** What differs from the policy of the settings. */
  readonly policy?: Partial<ConversationRequest["policy"]> | undefined;
  /** Identifies the settings; after a change, the conversation is opened again. */
  readonly settingsVersion?: string | undefined;
  /** The working folder of a new session; the server's own by default. */
  readonly cwd?: string | undefined;
  /** What a new session starts with: exchanges that took place elsewhere. */
  readonly earlier?: readonly Exchange[] | undefined;
}

export interface TurnRequest {
  /** Names the turn, also in the transcript; random by default. */
  readonly id?: string | undefined;
  /** The session to continue; undefined starts a new one. */
  readonly sessionId: string | undefined;
  readonly opening: SessionOpening;
  readonly message: TurnMessage;
  readonly limits: TurnLimits;
  /** What happens while another turn of the session runs, in this or another process: `session-busy`, or wait in order. */
  readonly whenBusy: "refuse" | "wait";
  /** Whether the conversation is closed after the turn, because nothing is expected to follow in its session. */
  readonly isSingle?: boolean | undefined;
}

export interface TurnMessage {
  readonly text: string;
  /** The part of the text in which references such as `@file:…` count; none by default. */
  readonly typed?: string | undefined;
  readonly images?: readonly ImagePart[] | undefined;
  /** Files of this machine that came with the message. */
  readonly files?: readonly ReceivedFile[] | undefined;
  /** Texts that are added after the message. */
  readonly notes?: readonly string[] | undefined;
}

export interface ReceivedFile {
  readonly path: string;
  /** What the model is told: the name of the file, and its type. */
  readonly description: string;
}

/**
 * `waiting`: for another turn of the session, or for the session to be opened. `asking`: for the answer of a person.
 * `stopping`: it was stopped, and its work has not ended yet.
 */
export type HostedTurnState = "waiting" | "running" | "asking" | "stopping" | "ended";

/** How a hosted turn ended: with its last event, or with an error before or instead of it. */
export type HostedTurnResult =
  | { readonly end: AgentEventOf<"turn-end"> }
  | { readonly end?: undefined; readonly error: unknown };

/** A turn that the server owns. It continues while nobody watches it. */
export interface HostedTurn {
  readonly id: string;
  readonly startedAt: number;
  /** The opened conversation; rejects if it could not be opened. */
  readonly opened: Promise<OpenConversation>;
  /** Never rejects. */
  readonly ended: Promise<HostedTurnResult>;
  state(): HostedTurnState;
  /** Yields the events after an id (0: all) until the turn has ended or the signal aborts. */
  watch(after: number, signal: AbortSignal): AsyncGenerator<JournalItem>;
  /** Adds a note; false if the turn does not run. */
  steer(text: string): boolean;
  /**
   * Ends the model call, the tools and their processes. Returns at once; `ended` resolves when the work has ended. Tools
   * get the reason.
   */
  stop(reason?: Error): void;
  /** Questions of this turn that wait for a person, oldest first. */
  questions(): readonly Approval[];
  /** Throws as ApprovalQueue.answer does, and `approval-not-found` if the turn did not ask this question. */
  answer(id: string, answer: Answer, signal: AbortSignal): Promise<Approval>;
}

export interface TurnHost extends AsyncDisposable {
  /** Starts a turn. Throws `session-busy`, `turns-full` or `turns-draining`; every later failure is its result. */
  start(request: TurnRequest): HostedTurn;
  /** A turn that runs, or that ended a short while ago. */
  find(id: string): HostedTurn | undefined;
  /** Turns that have not ended. */
  active(): readonly HostedTurn[];
  openConversations(): number;
  /** Starts no further turn and waits for the running ones; stops those that still run when the signal aborts. */
  drain(signal: AbortSignal): Promise<void>;
}

export interface TurnHostParts {
  open(
    sessionId: string | undefined,
    opening: SessionOpening,
    signal: AbortSignal,
  ): Promise<OpenConversation>;
  answer(conversation: OpenConversation, id: string, answer: Answer, signal: AbortSignal): Promise<Approval>;
  /** Called with an error that is not a known failure. */
  onBug(error: unknown): void;
  readonly clock: Clock;
  readonly size: TurnHostSize;
}

export interface TurnHostSize {
  /** Conversations that are open at once. The one that was idle longest is closed first; a running one never is. */
  readonly maxOpen: number;
  /** Idle conversations that are kept, each with its connection to the database: about 4 MB. */
  readonly maxIdle: number;
  /** An idle conversation is closed after this time. */
  readonly idleMs: number;
  /** For how long, and how many, ended turns can still be watched. */
  readonly keepEndedMs: number;
  readonly maxEnded: number;
  /** The size of the journals of all ended turns together, as JSON, in characters. */
  readonly maxEndedChars: number;
  readonly journal: JournalSize;
}

export const TURN_HOST_SIZE: TurnHostSize = {
  maxOpen: 64,
  maxIdle: 16,
  idleMs: 10 * 60_000,
  keepEndedMs: 5 * 60_000,
  maxEnded: 100,
  maxEndedChars: 64_000_000,
  journal: JOURNAL_SIZE,
};

/** How often a turn that waits for another process checks whether the session is free. */
const RETRY_BUSY_MS = 500;

interface HeldConversation {
  readonly conversation: OpenConversation;
  readonly opening: SessionOpening;
  isRunning: boolean;
  idleSince: number;
}

export function createTurnHost(parts: TurnHostParts): TurnHost {
  const { clock, size } = parts;
  const hosted = new Map<string, HostedTurn>();
  /** The journal sizes of the ended turns, oldest first. */
  const endedChars = new Map<string, number>();
  const held = new Map<string, HeldConversation>();
  /** The end of the last turn of each session that has turns in this process. */
  const lines = new Map<string, Promise<unknown>>();
  const closing = new Set<Promise<void>>();
  let isDraining = false;
  let opening = 0;

  const isActive = (turn: HostedTurn): boolean => turn.state() !== "ended";
  const active = (): HostedTurn[] => [...hosted.values()].filter(isActive);

  function close(sessionId: string, { conversation }: HeldConversation): void {
    held.delete(sessionId);
    const end = async (): Promise<void> => {
      await conversation[Symbol.asyncDispose]();
    };
    const closed = end().catch(parts.onBug);
    closing.add(closed);
    void closed.then(() => closing.delete(closed));
  }

  function findIdle(): [string, HeldConversation][] {
    const idle = [...held].filter(([, { isRunning }]) => !isRunning);
    return idle.sort(([, one], [, other]) => one.idleSince - other.idleSince);
  }

  function setIdle(one: HeldConversation): void {
    one.isRunning = false;
    one.idleSince = clock.now();
    const idle = findIdle();
    for (const [sessionId, oldest] of idle.slice(0, Math.max(0, idle.length - size.maxIdle)))
      close(sessionId, oldest);
  }

  const sweep = setInterval(
    () => {
      for (const [sessionId, idle] of findIdle())
        if (clock.now() - idle.idleSince >= size.idleMs) close(sessionId, idle);
    },
    Math.max(1_000, size.idleMs / 4),
  ).unref();

  async function openHeld(request: TurnRequest, signal: AbortSignal): Promise<HeldConversation> {
    const known = request.sessionId === undefined ? undefined : held.get(request.sessionId);
    if (known !== undefined && isDeepStrictEqual(identify(known.opening), identify(request.opening))) {
      known.isRunning = true;
      return known;
    }
    if (known !== undefined) close(known.conversation.sessionId, known);
    const [longestIdle] = findIdle();
    if (held.size + opening >= size.maxOpen) {
      if (longestIdle === undefined) throw fullError(size.maxOpen);
      close(...longestIdle);
    }
    opening++;
    try {
      const conversation = await parts.open(request.sessionId, request.opening, signal);
      const next = { conversation, opening: request.opening, isRunning: true, idleSince: 0 };
      held.set(conversation.sessionId, next);
      return next;
    } finally {
      opening--;
    }
  }

  /** Waits for the session's earlier turns of this process; the returned function lets the next one run. */
  async function waitInLine(sessionId: string, signal: AbortSignal): Promise<() => void> {
    const before = lines.get(sessionId) ?? Promise.resolve();
    let leave = (): void => undefined;
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    // Leaving the line early does not let the next turn overtake earlier ones.
    const end = Promise.all([before, left]).then(() => {
      if (lines.get(sessionId) === end) lines.delete(sessionId);
    });
    lines.set(sessionId, end);
    try {
      await Promise.race([before, rejectOnAbort(signal)]);
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  function start(request: TurnRequest): HostedTurn {
    const { sessionId, whenBusy, limits } = request;
    if (isDraining) throw new AppError("turns-draining", "The server is shutting down.");
    if (sessionId !== undefined && whenBusy === "refuse" && lines.has(sessionId))
      throw new AppError("session-busy", `Session ${sessionId} runs another turn.`);
    if (active().length >= size.maxOpen) throw fullError(size.maxOpen);
    const id = request.id ?? randomUUID();
    const journal = createTurnJournal(size.journal);
    const stopper = new AbortController();
    const stopping = stopper.signal;
    const questions = new Map<string, Approval>();
    let state: HostedTurnState = "waiting";
    let conversation: OpenConversation | undefined;
    let [resolveOpened, rejectOpened] = noSettlers<OpenConversation>();
    const opened = new Promise<OpenConversation>((resolve, reject) => {
      [resolveOpened, rejectOpened] = [resolve, reject];
    });
    opened.catch(() => undefined); // the failure is also the result of the turn

    async function run(): Promise<HostedTurnResult> {
      let leave = sessionId === undefined ? undefined : await waitInLine(sessionId, stopping);
      let current: HeldConversation | undefined;
      try {
        stopping.throwIfAborted();
        current = await openHeld(request, stopping);
        conversation = current.conversation;
        leave ??= await waitInLine(conversation.sessionId, stopping); // a new session: the line is empty
        resolveOpened(conversation);
        return { end: await say(conversation) };
      } finally {
        if (current !== undefined && request.isSingle) close(current.conversation.sessionId, current);
        else if (current !== undefined) setIdle(current);
        leave?.();
      }
    }

    async function say(current: OpenConversation): Promise<AgentEventOf<"turn-end">> {
      const { text, typed = "", images = [], files = [] } = request.message;
      const added = await current.loadParts(typed, images, stopping);
      const placed: string[] = [];
      for (const one of files) placed.push(await place(current, one));
      const notes = [...(request.message.notes ?? []), ...placed];
      const message: UserMessage = {
        role: "user",
        parts: [
          { type: "text", text },
          ...added,
          ...notes.map((note) => ({ type: "text", text: `\n\n${note}` }) as const),
        ],
      };
      for (;;) {
        try {
          return await sayOnce(current, message);
        } catch (error) {
          const isBusy = error instanceof AppError && error.code === "session-busy";
          if (!isBusy || whenBusy === "refuse" || journal.lastId() > 0) throw error;
          state = "waiting";
          await clock.sleep(RETRY_BUSY_MS, stopping);
        }
      }
    }

    /** If a file cannot be placed, the message is answered without it. */
    async function place(current: OpenConversation, { path, description }: ReceivedFile): Promise<string> {
      try {
        return `[The file ${description} was received as ${await current.placeFile(path, stopping)}]`;
      } catch (error) {
        stopping.throwIfAborted();
        return `[The file ${description} was received, and could not be put into the environment: ${messageOf(error)}]`;
      }
    }

    async function sayOnce(current: OpenConversation, message: UserMessage) {
      if (!stopping.aborted) state = "running";
      for await (const event of current.runTurn(message, limits, stopping, id)) {
        if (event.type === "approval-asked") questions.set(event.approval.id, event.approval);
        if (event.type === "approval-answered") questions.delete(event.approval.id);
        if (!stopping.aborted) state = questions.size > 0 ? "asking" : "running";
        journal.append(event);
        if (event.type === "turn-end") return event;
      }
      throw new AppError("turn-failed", "The turn ended without an answer.");
    }

    const ended = run()
      .catch((thrown: unknown): HostedTurnResult => {
        const isKnown = thrown instanceof AppError;
        if (!isKnown && !stopping.aborted) parts.onBug(thrown);
        const error =
          stopping.aborted && !isKnown
            ? new AppError("turn-stopped", "The turn was stopped before it began.", { cause: thrown })
            : thrown;
        rejectOpened(error);
        return { error };
      })
      .then((result) => {
        state = "ended";
        questions.clear();
        journal.end();
        keepEnded(id, journal.chars());
        return result;
      });

    const turn: HostedTurn = {
      id,
      startedAt: clock.now(),
      opened,
      ended,
      state: () => (stopping.aborted && state !== "ended" ? "stopping" : state),
      watch: (after, signal) => journal.watch(after, signal),
      steer(text) {
        if (conversation === undefined || state === "ended" || stopping.aborted) return false;
        conversation.steer(text);
        return true;
      },
      stop: (reason) => stopper.abort(reason),
      questions: () => [...questions.values()],
      async answer(question, answer, signal) {
        if (conversation === undefined || !questions.has(question))
          throw new AppError("approval-not-found", `This turn does not wait for an answer to ${question}.`);
        return parts.answer(conversation, question, answer, signal);
      },
    };
    hosted.set(id, turn);
    return turn;
  }

  /** Keeps an ended turn for a while, and forgets the oldest ended ones beyond the limits. */
  function keepEnded(id: string, chars: number): void {
    endedChars.set(id, chars);
    setTimeout(forget, size.keepEndedMs, id).unref();
    let sum = [...endedChars.values()].reduce((total, one) => total + one, 0);
    for (const [oldest, ofOldest] of endedChars) {
      if (endedChars.size <= size.maxEnded && sum <= size.maxEndedChars) return;
      sum -= ofOldest;
      forget(oldest);
    }
  }

  function forget(id: string): void {
    endedChars.delete(id);
    hosted.delete(id);
  }

  async function drain(signal: AbortSignal): Promise<void> {
    isDraining = true;
    const stopAll = (): void => {
      for (const turn of active()) turn.stop();
    };
    signal.addEventListener("abort", stopAll, { once: true });
    if (signal.aborted) stopAll();
    await Promise.all(active().map(({ ended }) => ended));
    signal.removeEventListener("abort", stopAll);
  }

  return {
    start,
    find: (id) => hosted.get(id),
    active,
    openConversations: () => held.size,
    drain,
    async [Symbol.asyncDispose]() {
      clearInterval(sweep);
      await drain(AbortSignal.abort());
      for (const [sessionId, idle] of [...held]) close(sessionId, idle);
      await Promise.all(closing);
      hosted.clear();
    },
  };
}

/** The part of an opening that must be equal for a conversation to be used again; the rest matters only to a new session. */
function identify({ surface, model = {}, reasoningEffort, policy = {}, settingsVersion }: SessionOpening) {
  return { surface, model, reasoningEffort, policy, settingsVersion };
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function noSettlers<T>(): [(value: T) => void, (reason: unknown) => void] {
  return [() => undefined, () => undefined];
}

function fullError(max: number): AppError {
  return new AppError("turns-full", `${max} turns run already, which is the most that this server runs.`);
}
