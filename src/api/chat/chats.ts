import type { Surface } from "../../conversation/conversation-request.ts";
import { PLAN_MODE } from "../../conversation/prompt/plan-mode.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import type { HostedTurn, TurnHost, TurnRequest } from "../../turns/turn-host.ts";
import type {
  ChatChange,
  ChatMode,
  NewMessage,
  SentMessage,
  SessionChat,
  TurnPatch,
} from "../contract/chat.ts";
import { createShownTurn, type ShownTurn } from "./shown-turn.ts";

/** What a turn of a profile needs, by its settings as they are now. */
export interface ChatSettings {
  /** Opens the host of the profile's turns, or returns the open one. */
  host(): Promise<TurnHost>;
  /** Identifies the settings. */
  readonly version: string;
  readonly limits: TurnRequest["limits"];
  /** The mode of a session in which nobody has chosen one. */
  readonly mode: ChatMode;
  redact(text: string): string;
}

export interface ChatParts {
  /** Throws `profile-not-found`. */
  load(profile: string): Promise<ChatSettings>;
  /** The session of a stored turn. */
  findSession(profile: string, turnId: string): Promise<string | undefined>;
  readonly clock: Clock;
  onBug(error: unknown): void;
}

/** A turn that pages can follow. */
export interface ChatTurn {
  readonly shown: Pick<ShownTurn, "read">;
  /** Subscribes to its changes; returns a function that unsubscribes. */
  follow(listener: (change: number, patches: readonly TurnPatch[]) => void): () => void;
}

/** The turns and the unsent messages of sessions that people chat in with a browser. */
export interface Chats {
  /** Sends a message, or queues it behind the running turn. A known id starts nothing. */
  send(profile: string, message: NewMessage, signal: AbortSignal): Promise<SentMessage>;
  /** What happens in a session now. */
  read(profile: string, session: string): Promise<Omit<SessionChat, "at">>;
  /** A turn that runs, or that ended a short while ago. */
  find(turnId: string): ChatTurn | undefined;
  /** Throws `turn-not-found` if this server does not run the turn. */
  stop(turnId: string): void;
  steer(turnId: string, text: string): void;
  /** Sends the messages that are held. */
  release(profile: string, session: string): Promise<void>;
  /** Takes a message out of the queue; throws `turn-not-found` if it is not there any more. */
  remove(profile: string, session: string, id: string): void;
  /** Subscribes to begun and ended turns and changed queues; returns a function that unsubscribes. */
  onChange(listener: (change: ChatChange) => void): () => void;
}

const SURFACE: Surface = {
  source: "dashboard",
  instructions:
    "You are in a chat in the user's browser; answers are rendered as markdown. The user may close the page while you work.",
  canNotify: false,
  takesNotes: true,
  haltsLoops: true,
  showsText: true,
  whenApprovalNeeded: "ask",
  titledBy: "model",
};
/** For how long pages can still read a turn that has ended. */
const KEEP_ENDED_MS = 60_000;

interface QueuedMessage {
  readonly id: string;
  readonly text: string;
}

interface RunningTurn {
  readonly hosted: HostedTurn;
  readonly shown: ShownTurn;
  readonly session: string;
  readonly listeners: Set<(change: number, patches: readonly TurnPatch[]) => void>;
}

/** The chat in one session. */
interface SessionState {
  readonly profile: string;
  readonly session: string;
  turn: RunningTurn | undefined;
  queue: readonly QueuedMessage[];
  isHeld: boolean;
  problem: string | undefined;
  mode: ChatMode | undefined;
  model: string | undefined;
  /** Whether the next message is being sent. */
  isSending: boolean;
}

export function createChats({ load, findSession, clock, onBug }: ChatParts): Chats {
  const sessions = new Map<string, SessionState>();
  const turns = new Map<string, RunningTurn>();
  /** Messages whose requests are being answered. */
  const sending = new Map<string, Promise<SentMessage>>();
  const listeners = new Set<(change: ChatChange) => void>();

  const announce = ({ profile, session }: ChatChange): void => {
    for (const listener of listeners) listener({ profile, session });
  };

  function stateOf(profile: string, session: string): SessionState {
    const key = keyOf(profile, session);
    const known = sessions.get(key);
    if (known !== undefined) return known;
    const state: SessionState = {
      ...{ profile, session, turn: undefined, queue: [], isHeld: false, problem: undefined },
      ...{ mode: undefined, model: undefined, isSending: false },
    };
    sessions.set(key, state);
    return state;
  }

  type Choice = Pick<SessionState, "mode" | "model">;

  /** Starts a turn, and resolves when its conversation is open. */
  async function start(
    profile: string,
    session: string | undefined,
    message: QueuedMessage,
    { mode, model }: Choice,
  ): Promise<RunningTurn> {
    const settings = await load(profile);
    const chosen = mode ?? settings.mode;
    const host = await settings.host();
    const hosted = host.start({
      id: message.id,
      sessionId: session,
      whenBusy: "wait",
      opening: {
        surface: SURFACE,
        model: model === undefined ? {} : { model },
        policy: chosen === "plan" ? { isPlanning: true } : { mode: chosen },
        settingsVersion: settings.version,
      },
      message: {
        text: message.text,
        typed: message.text,
        notes: chosen === "plan" ? [PLAN_MODE] : [],
      },
      limits: settings.limits,
    });
    const { sessionId } = await hosted.opened;
    return follow(profile, sessionId, hosted, message.text, settings);
  }

  function follow(
    profile: string,
    session: string,
    hosted: HostedTurn,
    text: string,
    { redact }: ChatSettings,
  ): RunningTurn {
    const followers: RunningTurn["listeners"] = new Set();
    const shown = createShownTurn({
      ...{ turn: hosted, profile, session, text, redact },
      now: () => clock.now(),
      onChange(change, patches) {
        for (const listener of followers) listener(change, patches);
      },
    });
    const turn: RunningTurn = { hosted, shown, session, listeners: followers };
    turns.set(hosted.id, turn);
    const state = stateOf(profile, session);
    state.turn = turn;
    followEvents(state, turn).catch(onBug);
    announce(state);
    return turn;
  }

  async function followEvents(state: SessionState, turn: RunningTurn): Promise<void> {
    const { hosted, shown } = turn;
    for await (const item of hosted.watch(0, neverAborted)) if ("event" in item) shown.apply(item.event);
    const result = await hosted.ended;
    const unseen = shown.takeSteers();
    const conversation = await hosted.opened;
    conversation.takeUnseenSteers(); // they are sent as a message instead
    shown.end(result);
    setTimeout(() => turns.delete(hosted.id), KEEP_ENDED_MS).unref();
    state.turn = undefined;
    const left = unseen.map((text, index) => ({ id: `${hosted.id}-note-${index}`, text }));
    state.queue = [...left, ...state.queue];
    const isComplete = result.end?.outcome === "completed";
    state.isHeld = !isComplete && state.queue.length > 0;
    announce(state);
    await sendNext(state);
  }

  /** Sends the first message of the queue unless a turn runs or a person has to decide. If that fails, the queue is held. */
  async function sendNext(state: SessionState): Promise<void> {
    const [next, ...rest] = state.queue;
    if (next === undefined || state.turn !== undefined || state.isHeld || state.isSending) return;
    state.isSending = true;
    try {
      await start(state.profile, state.session, next, state);
      state.queue = state.queue.filter(({ id }) => id !== next.id);
      state.problem = undefined;
    } catch (error) {
      if (!(error instanceof AppError)) onBug(error);
      state.isHeld = true;
      state.problem = messageOf(error);
    } finally {
      state.isSending = false;
      announce(state);
    }
    if (state.turn === undefined && rest.length > 0) await sendNext(state);
  }

  /** A message whose request is repeated, because the page has not seen the first answer. */
  async function findSent(profile: string, { id, session }: NewMessage): Promise<SentMessage | undefined> {
    const running = turns.get(id);
    if (running !== undefined) return { turn: id, session: running.session, isQueued: false };
    if (session !== undefined && stateOf(profile, session).queue.some((queued) => queued.id === id))
      return { turn: id, session, isQueued: true };
    const stored = await findSession(profile, id);
    return stored === undefined ? undefined : { turn: id, session: stored, isQueued: false };
  }

  function requireTurn(turnId: string): RunningTurn {
    const turn = turns.get(turnId);
    if (turn !== undefined) return turn;
    throw new AppError("turn-not-found", "This server does not run that turn.");
  }

  async function sendOnce(profile: string, message: NewMessage, signal: AbortSignal): Promise<SentMessage> {
    const known = await findSent(profile, message);
    if (known !== undefined) return known;
    signal.throwIfAborted();
    const { id, session, text, mode, model } = message;
    if (session === undefined) {
      const { session: opened } = await start(profile, undefined, { id, text }, { mode, model });
      Object.assign(stateOf(profile, opened), { mode, model });
      return { turn: id, session: opened, isQueued: false };
    }
    const state = stateOf(profile, session);
    const choice = { mode: mode ?? state.mode, model: model ?? state.model };
    const isBehind = state.queue.length > 0 && !state.isHeld;
    if (state.turn !== undefined || state.isSending || isBehind) {
      Object.assign(state, choice);
      state.queue = [...state.queue, { id, text }];
      announce(state);
      await sendNext(state);
      return { turn: id, session, isQueued: true };
    }
    state.isSending = true;
    try {
      await start(profile, session, { id, text }, choice);
      Object.assign(state, choice);
    } finally {
      state.isSending = false;
      void sendNext(state); // what was queued meanwhile, if this message was refused
    }
    return { turn: id, session, isQueued: false };
  }

  return {
    async send(profile, message, signal) {
      const earlier = sending.get(message.id);
      if (earlier !== undefined) return await earlier;
      const sent = sendOnce(profile, message, signal);
      sending.set(message.id, sent);
      try {
        return await sent;
      } finally {
        sending.delete(message.id);
      }
    },
    async read(profile, session) {
      const { mode, redact } = await load(profile);
      const state = sessions.get(keyOf(profile, session));
      return {
        turn: state?.turn?.shown.read() ?? null,
        queue: (state?.queue ?? []).map(({ id, text }) => ({ id, text: redact(text) })),
        isHeld: state?.isHeld ?? false,
        problem: state?.problem ?? null,
        mode: state?.mode ?? mode,
      };
    },
    find(turnId) {
      const turn = turns.get(turnId);
      if (turn === undefined) return undefined;
      return {
        shown: turn.shown,
        follow(listener) {
          turn.listeners.add(listener);
          return () => turn.listeners.delete(listener);
        },
      };
    },
    stop(turnId) {
      const { hosted, shown } = requireTurn(turnId);
      hosted.stop();
      shown.touch();
    },
    steer(turnId, text) {
      const { hosted, shown } = requireTurn(turnId);
      if (!hosted.steer(text))
        throw new AppError("turn-not-found", "The turn has ended, or it is being stopped.");
      shown.addSteer(text);
    },
    async release(profile, session) {
      const state = stateOf(profile, session);
      state.isHeld = false;
      announce(state);
      await sendNext(state);
    },
    remove(profile, session, id) {
      const state = stateOf(profile, session);
      if (!state.queue.some((queued) => queued.id === id))
        throw new AppError("turn-not-found", "The message has been sent or removed in the meantime.");
      state.queue = state.queue.filter((queued) => queued.id !== id);
      if (state.queue.length === 0) Object.assign(state, { isHeld: false, problem: undefined });
      announce(state);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const keyOf = (profile: string, session: string): string => `${profile} ${session}`;
