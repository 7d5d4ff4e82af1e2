import type { TurnOutcome } from "../../src/agent/events.ts";

/** How a server responds to one request. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The pieces that are written one by one before the answer ends. */
  readonly body?: readonly (string | Uint8Array)[];
  readonly encoding?: "gzip" | "br" | "deflate" | "zstd";
  /** `close` and `reset` break the connection; `hang` keeps it open and sends nothing. */
  readonly ends?: "properly" | "close" | "reset" | "hang";
  /** Bytes that are sent instead of an HTTP response. */
  readonly raw?: string;
  /** Breaks the connection, or goes silent, before the headers. */
  readonly unanswered?: "reset" | "hang";
}

/** One behaviour of real servers, and the expected result of a run. */
export interface HostileRow {
  readonly format: "chat" | "anthropic" | "responses" | "google" | "ollama";
  /** The vendors and gateways that showed this behaviour. */
  readonly who: string;
  readonly does: string;
  /** One reply per request; the last one is repeated. */
  readonly replies: readonly Reply[];
  readonly outcome: TurnOutcome;
  /** The answer as `-z` prints it. */
  readonly prints?: string;
  /** The error that `-z` prints; `{provider}` is replaced by the provider's name. */
  readonly reads?: string;
  /** The number of requests; by default the number of replies. */
  readonly requests?: number;
  /** The number of calls that run, if the row is about calls. */
  readonly calls?: number;
  /** Whether the row needs a version of Node with zstd (true) or without (false). */
  readonly zstd?: boolean;
}
