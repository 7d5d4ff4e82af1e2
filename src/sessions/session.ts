import type { Message, ToolCallPart } from "../providers/message.ts";

/** Which model answers in a session, and where. */
export interface SessionModel {
  readonly provider: string;
  readonly model: string;
  /** Undefined in sessions that are older than its being kept. */
  readonly baseUrl: string | undefined;
}

/** What a session is born with; prompt and tools stay as they are for its life, since the provider caches them. */
export interface NewSession extends SessionModel {
  /** Which surface it belongs to: cli, oneshot, telegram, kanban… */
  readonly source: string;
  readonly cwd: string;
  readonly systemPrompt: string;
  readonly toolsJson: string;
  readonly title?: string | undefined;
  /** Id of the session it came from. */
  readonly parent?: string | undefined;
}

/** A session that is not stored yet: it comes into being together with its first message. */
export interface SessionDraft extends NewSession {
  readonly id: string;
}

export interface SessionSummary {
  readonly id: string;
  readonly source: string;
  readonly title: string | undefined;
  readonly cwd: string;
  readonly provider: string;
  readonly model: string;
  readonly parent: string | undefined;
  readonly createdAt: number;
  /** When its last turn began or ended. */
  readonly activeAt: number;
}

export interface Session extends SessionSummary, SessionModel {
  readonly systemPrompt: string;
  readonly toolsJson: string;
}

export interface PendingCall {
  readonly call: ToolCallPart;
  /** It may have run, wholly or in part. */
  readonly started: boolean;
}

/** A turn that nobody has ended; when nobody holds its lease either, its process died. */
export interface OpenTurn {
  readonly turnId: string;
  readonly startedAt: number;
  /** Calls without a result, in order; also those of an earlier turn that nobody has reported yet. */
  readonly pendingCalls: readonly PendingCall[];
}

export interface LoadedSession {
  readonly session: Session;
  /** The system message first, results in the order of their calls. */
  readonly messages: readonly Message[];
  readonly openTurn: OpenTurn | undefined;
  /** The hashes of the last request that was sent. */
  readonly prefix: readonly string[];
  /** The state of its shell, as JSON that whoever kept it understands. */
  readonly shell: string | undefined;
}

/** Sums of many requests. A count that no provider gave is 0. */
export interface UsageTotals {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly costUsd: number;
  /** Answers whose price is unknown, so that `costUsd` is too small. */
  readonly unpriced: number;
}

/** Made by programs for programs: never what a person means by "the latest". */
export const INNER_SOURCES: readonly string[] = ["kanban", "subagent", "tool"];
/** Left out of pickers and lists unless asked for. */
export const UNLISTED_SOURCES: readonly string[] = ["oneshot", ...INNER_SOURCES];
