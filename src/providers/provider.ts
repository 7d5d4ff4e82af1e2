import type { AssistantMessage, Message } from "./message.ts";

/** The description of a tool that a request gives the model. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** Reasoning efforts from lowest to highest; a provider may support only some of them. */
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

/** Parses the name of an effort in any case; undefined if it is unknown. */
export function findEffort(word: string): ReasoningEffort | undefined {
  const wanted = word.trim().toLowerCase();
  return wanted === "off" ? "none" : REASONING_EFFORTS.find((effort) => effort === wanted);
}

export interface ModelRequest {
  /** Starts with the system message, if the conversation has one. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly maxOutputTokens?: number | undefined;
  /** Undefined means the provider's default. */
  readonly reasoningEffort?: ReasoningEffort | undefined;
  /** The same for all requests of a conversation, for providers that route requests by it. */
  readonly conversationId?: string | undefined;
}

/** The token counts of one request that the provider reported; undefined for counts that it did not report. */
export interface Usage {
  /** The whole prompt, including cached parts. */
  readonly inputTokens: number | undefined;
  readonly cacheReadTokens: number | undefined;
  readonly cacheWriteTokens: number | undefined;
  /** The whole answer, including reasoning. */
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

/** Adds two usages; a count that neither of them has stays undefined. */
export function addUsage(one: Usage, other: Usage): Usage {
  const sums: { -readonly [Count in keyof Usage]: Usage[Count] } = { ...one };
  for (const key of Object.keys(NO_USAGE) as (keyof Usage)[])
    if (other[key] !== undefined) sums[key] = (one[key] ?? 0) + other[key];
  return sums;
}

/** Why a model stopped; `length` means at its output limit, `window` at the end of its context window. */
export const FINISH_REASONS = ["stop", "tool-calls", "length", "window", "content-filter", "other"] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

/**
 * Every way a request can fail, and what may help: `retriable`, to send it again unchanged; `rotates`, to use another key of the
 * same provider; `fallsBack`, to use another provider. A conversation that is too long or refused goes to no other provider.
 */
export const FAILURE_KINDS = {
  aborted: { retriable: false, rotates: false, fallsBack: false },
  /** No connection: refused, unknown host, or reset before the first byte. */
  unreachable: { retriable: true, rotates: false, fallsBack: true },
  /** The provider sent nothing for too long. */
  stalled: { retriable: true, rotates: false, fallsBack: true },
  cut: { retriable: true, rotates: false, fallsBack: true },
  /** The provider failed or is overloaded: 5xx, 529. */
  unavailable: { retriable: true, rotates: false, fallsBack: true },
  "rate-limited": { retriable: true, rotates: true, fallsBack: true },
  /** The plan or the credit is used up: 402, or 429 with such a message. */
  quota: { retriable: false, rotates: true, fallsBack: true },
  /** 401 and 403. */
  auth: { retriable: false, rotates: true, fallsBack: true },
  /** 404: the model or the address does not exist. */
  "not-found": { retriable: false, rotates: false, fallsBack: true },
  "too-long": { retriable: false, rotates: false, fallsBack: false },
  /** 400 and 422: the provider rejects the request. */
  refused: { retriable: false, rotates: false, fallsBack: false },
  /** The response violates the wire format: HTML, invalid JSON. */
  malformed: { retriable: true, rotates: false, fallsBack: true },
  /** The answer has no text, no reasoning and no call. */
  empty: { retriable: true, rotates: false, fallsBack: true },
} as const satisfies Record<string, { retriable: boolean; rotates: boolean; fallsBack: boolean }>;
export type FailureKind = keyof typeof FAILURE_KINDS;

export interface ModelFailure {
  readonly kind: FailureKind;
  /** What happened, with the name of the provider and without secrets. */
  readonly message: string;
  readonly hint: string;
  readonly status: number | undefined;
  /** How long the provider asks clients to wait. */
  readonly retryAfterMs: number | undefined;
  /** The context window that the provider stated when it refused a conversation as too long. */
  readonly windowTokens?: number | undefined;
  /** Tools whose calls had started to arrive. The calls are incomplete, so none of them may run. */
  readonly droppedTools: readonly string[];
  readonly sawText: boolean;
  /** The tokens that the provider counted although the request failed. */
  readonly usage?: Usage | undefined;
}

export type ModelEvent =
  /** The request was sent. `prefix` has hashes of the tools, the system prompt and each message of the sent body. */
  | { readonly type: "request-sent"; readonly prefix: readonly string[] }
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  /** The model starts to write a call; only `message-end` has the complete call. */
  | { readonly type: "tool-call-start"; readonly callId: string; readonly tool: string }
  | { readonly type: "tool-input-delta"; readonly callId: string; readonly text: string }
  | {
      readonly type: "message-end";
      readonly message: AssistantMessage;
      readonly finish: FinishReason;
      readonly usage: Usage;
      /** Tools whose calls were cut off by a limit and are therefore not in the message. */
      readonly droppedTools: readonly string[];
    }
  | { readonly type: "failed"; readonly failure: ModelFailure };

export interface Model {
  /** The provider's name in the settings. */
  readonly provider: string;
  readonly name: string;
  /** The size of the context window; undefined if unknown. */
  readonly contextTokens: number | undefined;
  /** US dollars per million tokens; undefined if unknown. */
  readonly price: ModelPrice | undefined;
  /**
   * Makes one attempt. It never throws or rejects: the last event is `message-end` or `failed`, even after an abort.
   * A message never contains an incomplete call.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** The model and key that a request goes to. */
export interface RouteName {
  readonly provider: string;
  readonly model: string;
  /** Name of the setting or variable that contains the key. */
  readonly keySource: string | undefined;
}

export function formatRoute({ provider, model, keySource }: RouteName): string {
  return `${provider}/${model}${keySource === undefined ? "" : ` (${keySource})`}`;
}

export interface ModelPrice {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
}
