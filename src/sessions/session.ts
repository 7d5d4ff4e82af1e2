import type { PendingCall } from "../agent/events.ts";
import type { Message } from "../providers/message.ts";

/** The model that answers in a session, and its address. */
export interface SessionModel {
  readonly provider: string;
  readonly model: string;
  /** Undefined in sessions of versions that did not store the address. */
  readonly baseUrl: string | undefined;
  /** Whether the user chose the address, so that settings do not change it. */
  readonly keepsAddress: boolean;
  /** The wire format, if the user chose one; otherwise the settings decide. */
  readonly apiMode: string | undefined;
}

/** The initial state of a session. Prompt and tools never change, because the provider caches them. */
export interface NewSession extends SessionModel {
  /** The surface that started the session: cli, oneshot, telegram, kanban… */
  readonly source: string;
  readonly cwd: string;
  readonly systemPrompt: string;
  readonly toolsJson: string;
  readonly title?: string | undefined;
  /** Id of the session that this session continues, or that started this session. */
  readonly parent?: string | undefined;
}

/** A session that is not stored yet; it is stored together with its first message. */
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
  /** `branch`: it started as a copy of a part of its parent. Undefined: its parent started it, or it has no parent. */
  readonly parentLink: "branch" | undefined;
  readonly createdAt: number;
  /** When its last turn started or ended. */
  readonly activeAt: number;
  /** When the user hid it from lists. */
  readonly archivedAt: number | undefined;
}

export interface Session extends SessionSummary, SessionModel {
  readonly systemPrompt: string;
  readonly toolsJson: string;
}

/** A turn that has not ended. If no process holds its lease, its process crashed. */
export interface OpenTurn {
  readonly turnId: string;
  readonly startedAt: number;
  /** Calls without a result, in order, including unreported calls of an earlier turn. */
  readonly pendingCalls: readonly PendingCall[];
}

/** The state of a session's conversation since its newest compaction. */
export interface CompactionState {
  /** How many messages after the system message come from the compaction and not from the transcript. */
  readonly replaced: number;
  /** The size of the conversation when the model last answered; undefined if it has not answered since the compaction. */
  readonly anchor: { readonly tokens: number | undefined; readonly messages: number } | undefined;
  /** Summaries that failed in a row, and the time before which no other one is tried. */
  readonly failures: number;
  readonly retryAt: number;
}

export interface LoadedSession {
  readonly session: Session;
  /** What the model gets: the system message, the newest compaction, and the messages after it in the order of their calls. */
  readonly messages: readonly Message[];
  /** How many of the messages cannot be read; each is replaced by a sentence. */
  readonly damagedMessages: number;
  readonly compaction: CompactionState;
  readonly openTurn: OpenTurn | undefined;
  readonly prefix: readonly string[];
  /** The sources of text that neither the user nor the project wrote, including that of compacted messages. */
  readonly untrusted: readonly string[];
  /** The saved state of its shell, as JSON that this module does not interpret. */
  readonly shell: string | undefined;
}

/** Sums over requests. A count that no provider reported is 0. */
export interface UsageTotals {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly costUsd: number;
  /** Answers of unknown price, which `costUsd` does not include. */
  readonly unpriced: number;
}

/** Sessions that programs start; "the latest session" never means one of these. */
export const INTERNAL_SOURCES: readonly string[] = ["kanban", "subagent", "tool"];
/** Sources hidden from pickers and lists by default. */
export const UNLISTED_SOURCES: readonly string[] = ["oneshot", ...INTERNAL_SOURCES];
