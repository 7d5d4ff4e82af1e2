import type { Message } from "../../providers/message.ts";
import type { ModelFailure, ToolDefinition, Usage } from "../../providers/provider.ts";
import type { AgentEvent } from "../events.ts";
import { estimateTokens } from "../request-cost.ts";
import { type CompactionParts, compactHistory, planCompaction, TAIL_SHARE } from "./compact-history.ts";
import { createAnchor, measureHistory, type SizeAnchor } from "./context-size.ts";

/** How the conversation of a turn is compacted, and what is known about it from earlier turns. */
export interface TurnCompaction extends CompactionParts {
  /** The share of the window at which a conversation is compacted. */
  readonly threshold: number;
  /** The same threshold in tokens; the smaller of the two applies. */
  readonly thresholdTokens: number;
  /** The model's window; undefined if unknown. */
  windowTokens(): number | undefined;
  /** Called when the server states its window in an error. */
  onWindowStated(tokens: number): void;
  readonly anchor: SizeAnchor | undefined;
  /** How many messages after the system prompt come from an earlier compaction. */
  readonly replaced: number;
  readonly failures: number;
  /** No compaction is tried before this time, except where the server refuses the conversation as too long. */
  readonly retryAt: number;
}

/** The share of the threshold that a compacted conversation may take. */
const ROOM_AFTER = 0.6;
/** The shares of the tail in successive attempts to get below a limit that the server enforces. */
const OVERFLOW_TAIL_SHARES = [TAIL_SHARE, 0.05, 0];

/** Watches the size of one turn's conversation and compacts it. */
export function createCompactor(
  compaction: TurnCompaction,
  tools: readonly ToolDefinition[],
  onSpend: (usage: Usage, costUsd: number | undefined) => void,
) {
  let { anchor, replaced, failures, retryAt } = compaction;
  let overflows = 0;

  async function* run(
    history: readonly Message[],
    how: {
      readonly trigger: "threshold" | "overflow";
      readonly windowTokens: number;
      readonly tailShare: number;
    },
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, Message[] | undefined> {
    const tokens = measureHistory(history, tools, anchor);
    const request = { ...how, history, tools, replaced, tokens, failures, focus: undefined };
    const events = compactHistory(request, compaction, signal);
    for (;;) {
      const { value, done } = await events.next();
      if (!done) {
        if (value.type === "compaction" || value.type === "compaction-failed")
          onSpend(value.usage, value.costUsd);
        if (value.type === "compaction-failed") {
          failures++;
          ({ retryAt } = value);
        }
        yield value;
        continue;
      }
      if (value === undefined) return undefined;
      anchor = undefined;
      failures = 0;
      ({ replaced } = value);
      return value.history;
    }
  }

  /** Tries ever shorter tails, only so many until the model answers again. Yields `first` before the first compaction. */
  async function* shrink(
    history: readonly Message[],
    first: AgentEvent | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, Message[] | undefined> {
    const size = measureHistory(history, tools, anchor);
    const windowTokens = Math.min(compaction.windowTokens() ?? size, size);
    while (overflows < OVERFLOW_TAIL_SHARES.length) {
      const tailShare = OVERFLOW_TAIL_SHARES[overflows++] ?? 0;
      if (planCompaction({ history, replaced, windowTokens, tailShare }, compaction) === undefined) continue;
      if (first !== undefined) yield first;
      first = undefined;
      const compacted = yield* run(history, { trigger: "overflow", windowTokens, tailShare }, signal);
      if (compacted !== undefined || signal.aborted) return compacted;
    }
    return undefined;
  }

  return {
    /** Called after each answer, which is the last message. */
    onAnswer(history: readonly Message[], used: Usage): void {
      anchor = createAnchor(history, tools, used, anchor);
      overflows = 0;
    },
    /** Compacts a conversation that has become long; returns it unchanged while there is no need. */
    async *whenLong(history: Message[], signal: AbortSignal): AsyncGenerator<AgentEvent, Message[]> {
      const windowTokens = compaction.windowTokens();
      // Without an answer since the last compaction there is only an estimate; the next answer reports the size.
      if (windowTokens === undefined || anchor === undefined) return history;
      const limit = Math.min(windowTokens * compaction.threshold, compaction.thresholdTokens);
      if (measureHistory(history, tools, anchor) < limit || compaction.clock.now() < retryAt) return history;
      // In a small window, tools and system prompt leave less room for the tail; otherwise each step would compact again.
      const fixedTokens = estimateTokens([history.filter(({ role }) => role === "system"), tools]);
      const roomShare = (limit * ROOM_AFTER - fixedTokens) / windowTokens;
      const tailShare = Math.max(0, Math.min(TAIL_SHARE, roomShare));
      const how = { trigger: "threshold", windowTokens, tailShare } as const;
      return (yield* run(history, how, signal)) ?? history;
    },
    /** Compacts a conversation whose last answer reached the end of the window; undefined if it cannot become shorter. */
    whenFull(
      history: readonly Message[],
      signal: AbortSignal,
    ): AsyncGenerator<AgentEvent, Message[] | undefined> {
      return shrink(history, undefined, signal);
    },
    /** Whether a refusal is probably about the length, although its wording is unknown. */
    isProbablyTooLong(history: readonly Message[], { kind, status = 0 }: ModelFailure): boolean {
      const isRefusal = kind === "refused" || (kind === "unavailable" && status === 500);
      const windowTokens = compaction.windowTokens();
      return (
        isRefusal && windowTokens !== undefined && measureHistory(history, tools, anchor) >= windowTokens
      );
    },
    /** Compacts a conversation that the server refused as too long; undefined if it cannot become shorter. */
    async *whenRefused(
      history: readonly Message[],
      failure: ModelFailure,
      costUsd: number | undefined,
      signal: AbortSignal,
    ): AsyncGenerator<AgentEvent, Message[] | undefined> {
      if (failure.windowTokens !== undefined) compaction.onWindowStated(failure.windowTokens);
      return yield* shrink(history, { type: "attempt-failed", failure, retryInMs: 0, costUsd }, signal);
    },
  };
}
