import type { Message } from "../providers/message.ts";
import type { LoadedSession } from "../sessions/session.ts";
import type { SessionProgress } from "../sessions/session-list.ts";
import type { SessionStore } from "../sessions/session-store.ts";

/** What a session has done before this process opened it. */
export interface PastTotals extends SessionProgress {
  /** The size of the conversation when the model last answered; undefined if it is not known. */
  readonly contextTokens: number | undefined;
  /** Undefined if no request had a known price. */
  readonly costUsd: number | undefined;
}

export function loadPastTotals(
  store: SessionStore,
  id: string,
  resumed: LoadedSession | undefined,
): PastTotals {
  if (resumed === undefined) return { turns: 0, calls: 0, contextTokens: undefined, costUsd: undefined };
  const { requests, unpriced, costUsd } = store.usage.ofSession(id);
  return {
    ...store.list.progress(id),
    contextTokens: resumed.compaction.anchor?.tokens,
    costUsd: unpriced < requests ? costUsd : undefined,
  };
}

/** The messages that no summary has replaced. */
export function withoutSummary({ messages, compaction }: LoadedSession): Message[] {
  return messages.filter(({ role }) => role !== "system").slice(compaction.replaced);
}
