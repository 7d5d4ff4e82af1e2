import type { AssistantMessage, ToolCallPart, UserMessage } from "../providers/message.ts";
import type { FinishReason, ModelFailure, Usage } from "../providers/provider.ts";

/** Version of the events as `--json` prints them; raised when a reader of the old ones would misunderstand. */
export const EVENTS_VERSION = 1;

/** What became of a tool call. `unknown`: it was started, and nobody saw how it ended. */
export type ToolOutcome = "ok" | "failed" | "stopped" | "unknown" | "not-run";

export interface ToolEnd {
  readonly callId: string;
  readonly tool: string;
  readonly outcome: ToolOutcome;
  /** What the model reads. */
  readonly text: string;
  /** What a person is shown besides, such as a diff. */
  readonly display?: string | undefined;
  readonly durationMs: number;
}

/** How a turn ends that a crash left open. */
export interface InterruptedTurn {
  readonly turnId: string;
  readonly outcome: "completed" | "failed";
  readonly reason: string | undefined;
  /** Stands for the missing answer where two messages of a person would follow each other. */
  readonly answer: AssistantMessage | undefined;
}

/**
 * `cut`: the answer ends at a limit of the model, and it could not go on. `refused`: the model declined, or a filter of its
 * provider stopped it. `stopped`: by a person. `budget`: a limit that was asked for. `failed`: the model or the store could
 * not go on.
 */
export type TurnOutcome = "completed" | "cut" | "refused" | "stopped" | "budget" | "failed";

/**
 * What happens in a turn, in order. Those marked durable are committed before anybody else sees them, and the
 * conversation can be rebuilt from them alone.
 */
export type AgentEvent =
  /** Durable, and the first thing that is: nothing happens before the message is stored. */
  | {
      readonly type: "turn-start";
      readonly turnId: string;
      readonly message: UserMessage;
      /** The turn that a crash left open; it ends here, and its unfinished calls get their results next. */
      readonly interrupted?: InterruptedTurn | undefined;
    }
  /** Durable. The request has left; `prefix` has one hash per message of the body. */
  | {
      readonly type: "request-sent";
      readonly provider: string;
      readonly model: string;
      readonly prefix: readonly string[];
    }
  /** The start of the prompt is not what was sent before, so the provider's cache is lost from there on. */
  | { readonly type: "cache-broken"; readonly at: number; readonly what: string }
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "tool-call-start"; readonly callId: string; readonly tool: string }
  | { readonly type: "attempt-failed"; readonly failure: ModelFailure; readonly retryInMs: number }
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
  /** Durable. These calls, planned by the answer, begin now: one that may change something, or reads side by side. */
  | { readonly type: "tools-start"; readonly calls: readonly ToolCallPart[] }
  | { readonly type: "tool-progress"; readonly callId: string; readonly text: string }
  /** Durable. As they end; the conversation keeps the order of the calls. */
  | ({ readonly type: "tool-end" } & ToolEnd)
  /** Durable. A note from a person, which the model sees after the results. */
  | { readonly type: "steer"; readonly message: UserMessage }
  | { readonly type: "notice"; readonly text: string }
  /** Durable. `text` is the answer; empty when there is none. */
  | {
      readonly type: "turn-end";
      readonly turnId: string;
      readonly outcome: TurnOutcome;
      readonly text: string;
      /** Why, unless completed; and what to do next. */
      readonly reason: string | undefined;
      readonly hint: string | undefined;
      readonly requests: number;
      readonly usage: Usage;
      readonly costUsd: number | undefined;
    };

export type AgentEventOf<Type extends AgentEvent["type"]> = Extract<AgentEvent, { readonly type: Type }>;
