import type { Approval } from "../approvals/approval.ts";
import type { Decision } from "../policy/decision.ts";
import type { AssistantMessage, Message, ToolCallPart, UserMessage } from "../providers/message.ts";
import type { FailureKind, FinishReason, ModelFailure, RouteName, Usage } from "../providers/provider.ts";

/** Version of the events that `--json` prints. Raise it for a change that existing consumers would misread. */
export const EVENTS_VERSION = 1;

/** How a tool call ended. `unknown`: the call was started, but its end was never recorded. */
export type ToolOutcome = "ok" | "failed" | "stopped" | "unknown" | "not-run";

/** A call without a result: the call was planned or started, and then its process exited. */
export interface PendingCall {
  readonly call: ToolCallPart;
  /** Whether the call may have run, completely or in part; false if it was only planned. */
  readonly started: boolean;
}

/** The recorded end of a turn that a crash left unfinished. */
export interface InterruptedTurn {
  readonly turnId: string;
  readonly outcome: "completed" | "failed";
  readonly reason: string | undefined;
  /** A placeholder for the missing answer, set if the conversation would otherwise have two user messages in a row. */
  readonly answer: AssistantMessage | undefined;
}

/** A call and the decision about it. */
export interface DecidedCall {
  readonly callId: string;
  readonly tool: string;
  /** SHA-256 of the tool's name and arguments. */
  readonly hash: string;
  /** What the call would do, in one line without secrets. */
  readonly summary: string;
  readonly decision: Decision;
}

/** One request to the reviewer model. */
export interface ReviewCost {
  readonly provider: string;
  readonly model: string;
  readonly usage: Usage;
  readonly costUsd: number | undefined;
}

/**
 * `cut`: the answer reached a limit of the model and could not continue. `refused`: the model declined, or a content
 * filter of the provider stopped the answer. `stopped`: the user stopped the turn. `budget`: the turn reached a limit
 * that the user set. `denied`: the model kept trying what it was not allowed to do. `failed`: the model or the session
 * store failed.
 */
export type TurnOutcome = "completed" | "cut" | "refused" | "stopped" | "budget" | "denied" | "failed";

/** Why a conversation is compacted: its size, an error of the server about its size, or a request of the user. */
export type CompactionTrigger = "threshold" | "overflow" | "manual";

/** `disobedient`: the model answered something that cannot be used as a summary. `pointless`: it gains nothing. */
export type SummaryFailureKind = FailureKind | "disobedient" | "pointless";

/**
 * The events of a turn, in order. Events marked durable are committed before any consumer sees them; the conversation
 * can be rebuilt from the durable events alone.
 */
export type AgentEvent =
  /** Durable, and always first: the turn does nothing before the user's message is stored. */
  | {
      readonly type: "turn-start";
      readonly turnId: string;
      readonly message: UserMessage;
      /** The turn that a crash left unfinished. This event ends it; the results of its unfinished calls follow. */
      readonly interrupted?: InterruptedTurn | undefined;
      /** The sources of untrusted text in the message, or in the prompt of a new session. */
      readonly untrusted?: readonly string[] | undefined;
    }
  /** Durable. The request was sent; `prefix` has one hash per message of its body. */
  | {
      readonly type: "request-sent";
      readonly provider: string;
      readonly model: string;
      /** Name of the setting or variable that contains the key. */
      readonly keySource?: string | undefined;
      readonly prefix: readonly string[];
    }
  /** The prompt differs from the previous one at index `at`, so the provider's cache is lost from there on. */
  | { readonly type: "cache-broken"; readonly at: number; readonly what: string }
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "tool-call-start"; readonly callId: string; readonly tool: string }
  /** Durable, because the provider may charge for the attempt. */
  | {
      readonly type: "attempt-failed";
      readonly failure: ModelFailure;
      readonly retryInMs: number;
      readonly costUsd?: number | undefined;
    }
  /** Durable. The next request goes to another key or model, because the previous one failed or can be used again. */
  | {
      readonly type: "route-switched";
      readonly from: RouteName;
      readonly to: RouteName;
      readonly reason: string;
      /** Tokens of the conversation that are no longer in the provider's cache; 0 if nothing was sent before. */
      readonly lostCacheTokens?: number | undefined;
      /** What reading those tokens again costs, if the price is known. */
      readonly lostCacheUsd?: number | undefined;
    }
  /** Durable. */
  | {
      readonly type: "assistant";
      readonly message: AssistantMessage;
      readonly finish: FinishReason;
      readonly usage: Usage;
      readonly costUsd: number | undefined;
      readonly provider: string;
      readonly model: string;
    }
  /** Durable, because the provider may charge for it: the reviewer model was asked about a call. */
  | ({ readonly type: "call-reviewed"; readonly callId: string } & ReviewCost)
  /** A person is asked about a call, which has not started. The question is stored, and any process can answer it. */
  | { readonly type: "approval-asked"; readonly approval: Approval }
  | { readonly type: "approval-answered"; readonly approval: Approval }
  /** Durable. These planned calls start now: one call that may change something, or several reads in parallel. */
  | {
      readonly type: "tools-start";
      readonly calls: readonly ToolCallPart[];
      readonly decisions?: readonly DecidedCall[];
    }
  | { readonly type: "tool-progress"; readonly callId: string; readonly text: string }
  /** Durable. Emitted in the order in which calls end; the conversation keeps the order of the calls. */
  | {
      readonly type: "tool-end";
      readonly callId: string;
      readonly tool: string;
      readonly outcome: ToolOutcome;
      /** The result that the model gets. */
      readonly text: string;
      /** Additional text that only the user sees, such as a diff. */
      readonly display?: string | undefined;
      readonly durationMs: number;
      /** Why the call was not run, if it was denied. */
      readonly denied?: DecidedCall | undefined;
      /** The sources of text in the result that neither the user nor the project wrote. */
      readonly untrusted?: readonly string[] | undefined;
    }
  /** Durable. A note from the user, which the model sees after the tool results. */
  | { readonly type: "steer"; readonly message: UserMessage }
  | { readonly type: "notice"; readonly text: string }
  | { readonly type: "compaction-start"; readonly trigger: CompactionTrigger; readonly tokens: number }
  /** Durable. From now on the model gets `replacement` instead of the older messages, which stay stored. */
  | {
      readonly type: "compaction";
      readonly trigger: CompactionTrigger;
      /** Who wrote the summary: a model; Hermes itself, without a model; or nobody, if long texts were only cut. */
      readonly method: "model" | "mechanical" | "cut";
      readonly replacement: readonly Message[];
      /** How many of the newest user and assistant messages follow the replacement unchanged, with their results. */
      readonly kept: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly provider: string;
      readonly model: string;
      readonly usage: Usage;
      readonly costUsd: number | undefined;
      readonly durationMs: number;
    }
  /** Durable. No summary could be written. The conversation is unchanged, and no new attempt is made before `retryAt`. */
  | {
      readonly type: "compaction-failed";
      readonly kind: SummaryFailureKind;
      readonly message: string;
      readonly hint: string;
      /** Milliseconds since 1970. */
      readonly retryAt: number;
      readonly provider: string;
      readonly model: string;
      readonly usage: Usage;
      readonly costUsd: number | undefined;
    }
  /** Durable. `text` is the answer; empty if the model gave none. */
  | {
      readonly type: "turn-end";
      readonly turnId: string;
      readonly outcome: TurnOutcome;
      readonly text: string;
      /** Why the turn ended, unless it completed; `hint` is what to do next. */
      readonly reason: string | undefined;
      readonly hint: string | undefined;
      readonly requests: number;
      readonly usage: Usage;
      readonly costUsd: number | undefined;
    };

export type AgentEventOf<Type extends AgentEvent["type"]> = Extract<AgentEvent, { readonly type: Type }>;
