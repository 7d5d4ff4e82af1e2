import type { PendingCall } from "../../../agent/events.ts";
import type { Approval } from "../../../approvals/approval.ts";
import type { Entry } from "./entry.ts";
import { STATUS_FIELDS, type StatusField } from "./status-fields.ts";

/** The facts about a session, which are known once it is open. */
export interface ChatFacts {
  readonly version: string;
  readonly profile: string;
  readonly folder: string;
  readonly environment: string;
  readonly model: string;
  readonly contextTokens: number | undefined;
  readonly sessionId: string;
}

/** Who answers questions about calls; `plan` means that nothing may change. */
export type ChatMode = "asks" | "smart" | "off" | "YOLO" | "plan";

export type BusyMode = "queue" | "steer" | "interrupt";

export interface RunningCall {
  readonly callId: string;
  /** The number of the call in its session, which `/out` and `/why` accept. */
  readonly number: number;
  readonly tool: string;
  readonly argument: string;
  readonly startedAt: number;
  /** The last line that the call has printed. */
  readonly progress: string | undefined;
}

/** A question that waits for an answer in the input line. */
export interface Question {
  readonly approval: Approval;
  readonly number: number;
  readonly askedAt: number;
  /** Whether a bare number was typed too early to count; the next one counts. */
  readonly wasTooEarly: boolean;
}

/** A slash command that has not ended yet. */
export interface RunningCommand {
  readonly text: string;
  readonly startedAt: number;
  /** Whether messages wait until it has ended, because it changes the session. */
  readonly isExclusive: boolean;
}

export interface RunningTurn {
  readonly startedAt: number;
  readonly activity: "waiting" | "thinking" | "answering" | "calling" | "stopping";
  /** When the model or a call last produced an event. */
  readonly activeAt: number;
}

/** Everything that determines what the chat shows and what a key does. Immutable: `update` returns a new state. */
export interface ChatState {
  readonly facts: ChatFacts | undefined;
  readonly mode: ChatMode;
  /** What Enter does with a message while a turn runs. */
  readonly busyMode: BusyMode;
  readonly showsReasoning: boolean;
  /** Whether a spinner is shown. */
  readonly hasMotion: boolean;
  /** What the status line shows, in this order. */
  readonly statusFields: readonly StatusField[];
  readonly turn: RunningTurn | undefined;
  readonly commands: readonly RunningCommand[];
  readonly calls: readonly RunningCall[];
  readonly lastCall: number;
  /** Messages that are sent after the running turn, oldest first. */
  readonly queue: readonly string[];
  /** Whether queued messages wait for Enter, for example because the user has stopped a turn. */
  readonly isQueueHeld: boolean;
  /** Whether the turn is being stopped for the first message of the queue, which is sent next. */
  readonly isInterrupting: boolean;
  /** Notes to the running turn that the model has not seen yet. */
  readonly steers: readonly string[];
  readonly questions: readonly Question[];
  /** Calls of a turn that a crash has cut off; their results follow with the next message. */
  readonly cutOff: readonly PendingCall[];
  /** A message that a notice has offered to send with Enter on the empty line. */
  readonly offer: string | undefined;
  /** Files that a call of this turn failed to write and that no later call has written. */
  readonly failedWrites: readonly string[];
  /** Commands of this session that run in the background. */
  readonly jobs: number;
  readonly contextUsed: number;
  readonly costUsd: number | undefined;
  /** A short message in the status line, until the given time. */
  readonly hint: { readonly text: string; readonly until: number } | undefined;
  /** Until this time, the next Ctrl-C leaves the chat. */
  readonly leavesUntil: number;
  /** Until this time, the next Esc clears the draft. */
  readonly clearsUntil: number;
  readonly isLeaving: boolean;
}

export const INITIAL_STATE: ChatState = {
  facts: undefined,
  mode: "asks",
  busyMode: "queue",
  showsReasoning: false,
  hasMotion: true,
  statusFields: STATUS_FIELDS,
  turn: undefined,
  commands: [],
  calls: [],
  lastCall: 0,
  queue: [],
  isQueueHeld: false,
  isInterrupting: false,
  steers: [],
  questions: [],
  cutOff: [],
  offer: undefined,
  failedWrites: [],
  jobs: 0,
  contextUsed: 0,
  costUsd: undefined,
  hint: undefined,
  leavesUntil: 0,
  clearsUntil: 0,
  isLeaving: false,
};

/** A side effect that the program carries out; `update` itself is pure. */
export type Effect =
  | { readonly type: "send"; readonly text: string }
  | { readonly type: "steer"; readonly text: string }
  | { readonly type: "stop" }
  /** Stop the turn for a new message. */
  | { readonly type: "redirect" }
  /** Stops the running slash commands. */
  | { readonly type: "stop-commands" }
  | { readonly type: "leave" }
  /** Runs a command in the environment, without the model. */
  | { readonly type: "shell"; readonly command: string }
  | { readonly type: "command"; readonly name: string; readonly argument: string }
  | { readonly type: "answer"; readonly approval: Approval; readonly choice: AnswerChoice }
  /** Empties the input line; what was typed is saved in the history. */
  | { readonly type: "clear-draft" }
  /** Puts a text into the input line. */
  | { readonly type: "edit"; readonly text: string };

export type AnswerChoice =
  | { readonly verdict: "approved"; readonly scope: "once" | "session" | "always" }
  | { readonly verdict: "denied"; readonly text?: string | undefined }
  /** The answer to a clarification. */
  | { readonly verdict: "answered"; readonly text: string };

export interface Update {
  readonly state: ChatState;
  readonly entries: readonly Entry[];
  readonly effects: readonly Effect[];
}
