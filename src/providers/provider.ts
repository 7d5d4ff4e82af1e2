import type { AssistantMessage, Message } from "./message.ts";

/** A tool as the model is told of it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** How hard a model may be asked to think, from not at all; a provider takes those that it knows. */
export const REASONING_EFFORTS = [
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
  "ultra",
] as const;
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** The effort that a word means, in whatever case; undefined when it means none that is known. */
export function readEffort(word: string): ReasoningEffort | undefined {
  const wanted = word.trim().toLowerCase();
  return wanted === "off" ? "none" : REASONING_EFFORTS.find((effort) => effort === wanted);
}

export interface ModelRequest {
  /** The system message first, if there is one. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly maxOutputTokens?: number | undefined;
  /** The provider's default unless given. */
  readonly reasoningEffort?: ReasoningEffort | undefined;
  /** The same for all requests of a conversation, for providers that route by it. */
  readonly conversationId?: string | undefined;
}

/** Tokens of one request as the provider counted them; undefined where it said nothing. */
export interface Usage {
  /** All of the prompt, cached parts included. */
  readonly inputTokens: number | undefined;
  readonly cacheReadTokens: number | undefined;
  readonly cacheWriteTokens: number | undefined;
  /** All of the answer, reasoning included. */
  readonly outputTokens: number | undefined;
  readonly reasoningTokens: number | undefined;
}

export const NO_USAGE: Usage = {
  inputTokens: undefined,
  cacheReadTokens: undefined,
  cacheWriteTokens: undefined,
  outputTokens: undefined,
  reasoningTokens: undefined,
};

/** The sum of two; what neither says stays unknown. */
export function addUsage(one: Usage, other: Usage): Usage {
  const sum = (key: keyof Usage): number | undefined =>
    one[key] === undefined && other[key] === undefined ? undefined : (one[key] ?? 0) + (other[key] ?? 0);
  return {
    inputTokens: sum("inputTokens"),
    cacheReadTokens: sum("cacheReadTokens"),
    cacheWriteTokens: sum("cacheWriteTokens"),
    outputTokens: sum("outputTokens"),
    reasoningTokens: sum("reasoningTokens"),
  };
}

/** Why a model stopped; `length` is its output limit, `window` the end of its context window. */
export const FINISH_REASONS = ["stop", "tool-calls", "length", "window", "content-filter", "other"] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

/** Every way a request can fail; `retriable` ones may succeed when they are sent again unchanged. */
export const FAILURE_KINDS = {
  aborted: { retriable: false },
  /** No connection: refused, no such host, reset before the first byte. */
  unreachable: { retriable: true },
  /** Nothing came for too long. */
  stalled: { retriable: true },
  /** The answer ended before it was whole. */
  cut: { retriable: true },
  /** The provider broke or is overloaded: 5xx, 529. */
  unavailable: { retriable: true },
  "rate-limited": { retriable: true },
  /** The plan or the money is used up: 402, or 429 that says so. */
  quota: { retriable: false },
  /** 401 and 403. */
  auth: { retriable: false },
  /** 404: the model or the address does not exist. */
  "not-found": { retriable: false },
  /** The conversation does not fit into the model's window. */
  "too-long": { retriable: false },
  /** 400 and 422: the request is wrong. */
  refused: { retriable: false },
  /** What came back is not what the format promises: HTML, broken JSON. */
  malformed: { retriable: true },
  /** Neither text nor reasoning nor a call. */
  empty: { retriable: true },
} as const satisfies Record<string, { retriable: boolean }>;
export type FailureKind = keyof typeof FAILURE_KINDS;

export interface ModelFailure {
  readonly kind: FailureKind;
  /** What happened, naming the provider; no secret is in it. */
  readonly message: string;
  /** What a person should do next. */
  readonly hint: string;
  readonly status: number | undefined;
  /** How long the provider asks us to wait. */
  readonly retryAfterMs: number | undefined;
  /** Tools whose calls had begun to arrive: none of them was whole, so none may run. */
  readonly droppedTools: readonly string[];
  /** Whether text had been shown already. */
  readonly sawText: boolean;
}

export type ModelEvent =
  /** The request has left. One hash per message of the body really sent, tools and system prompt first. */
  | { readonly type: "request-sent"; readonly prefix: readonly string[] }
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  /** A call is being written; only `message-end` has it whole. */
  | { readonly type: "tool-call-start"; readonly callId: string; readonly tool: string }
  | { readonly type: "tool-input-delta"; readonly callId: string; readonly text: string }
  | {
      readonly type: "message-end";
      readonly message: AssistantMessage;
      readonly finish: FinishReason;
      readonly usage: Usage;
      /** Tools whose calls were cut off by a limit, and are therefore not in the message. */
      readonly droppedTools: readonly string[];
    }
  | { readonly type: "failed"; readonly failure: ModelFailure };

/** One model of one provider. */
export interface Model {
  /** As the settings name it. */
  readonly provider: string;
  readonly name: string;
  /** How much a conversation may hold; undefined when nobody has said. */
  readonly contextTokens: number | undefined;
  /** US dollars for one million tokens; undefined when unknown. */
  readonly price: ModelPrice | undefined;
  /**
   * One attempt. Never throws and never rejects: the last event is `message-end` or `failed`, also after an abort.
   * No event is a half one: a call that did not arrive whole is in no message.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

export interface ModelPrice {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
}
