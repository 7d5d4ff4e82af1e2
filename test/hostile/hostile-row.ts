import type { TurnOutcome } from "../../src/agent/events.ts";

/** What a server does with one request. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Written piece by piece, before the answer ends. */
  readonly body?: readonly (string | Uint8Array)[];
  readonly encoding?: "gzip" | "br" | "deflate" | "zstd";
  /** `close` and `reset` break the connection, `hang` keeps it open without a word. */
  readonly ends?: "properly" | "close" | "reset" | "hang";
  /** Bytes in place of an HTTP answer. */
  readonly raw?: string;
  /** Breaks the connection, or goes silent, before the headers. */
  readonly unanswered?: "reset" | "hang";
}

/** One thing that real servers do, and what a run makes of it. */
export interface HostileRow {
  readonly format: "chat" | "anthropic";
  /** Vendors and gateways that were seen doing it. */
  readonly who: string;
  readonly does: string;
  /** For each request in turn; the last one is repeated. */
  readonly replies: readonly Reply[];
  readonly outcome: TurnOutcome;
  /** The answer as `-z` prints it. */
  readonly prints?: string;
  /** Why there is no answer, as `-z` says it; `{provider}` stands for the provider's name. */
  readonly reads?: string;
  /** Requests that are made; as many as there are replies unless given. */
  readonly requests?: number;
  /** Calls that are run in all of them, where the row is about calls. */
  readonly calls?: number;
  /** The row needs a Node that can undo zstd, or one that cannot. */
  readonly zstd?: boolean;
}
