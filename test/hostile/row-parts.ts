import type { HostileRow, Reply } from "./hostile-row.ts";

/** A row of either format. */
export type Row = Omit<HostileRow, "format">;

/** The arguments of a call of `terminal`. */
export const LS_INPUT = '{"command":"ls"}';

export const REFUSED =
  "{provider} ended the answer with a refusal: the model declined, or a content filter stopped it.";

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: [JSON.stringify(body)],
  };
}

/** A row that completes with the usual answer. */
export function ok(who: string, does: string, ...replies: readonly Reply[]): Row {
  return { who, does, replies, outcome: "completed", prints: "Hi." };
}

export function failed(who: string, does: string, reads: string, reply: Reply, requests = 1): Row {
  return { who, does, replies: [reply], outcome: "failed", reads, requests };
}
