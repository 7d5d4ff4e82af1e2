import type { Steps } from "./steps.ts";

/** The database of one board, shared with other processes and, on PostgreSQL, with other hosts. */
export interface BoardDatabase extends AsyncDisposable {
  /** Shown in messages: a path, or the URL without its password. */
  readonly name: string;
  /** Runs read-only statements on one snapshot; awaits `between` after each, so that a read can wait for its consumer. */
  read<Result>(
    steps: () => Steps<Result>,
    signal: AbortSignal,
    between?: () => Promise<void>,
  ): Promise<Result>;
  /** Runs all statements in one transaction; calls `steps` again when a conflict rolled the transaction back. */
  write<Result>(steps: () => Steps<Result>, signal: AbortSignal): Promise<Result>;
  /** Checks the storage and the schema; returns one sentence per problem. The store checks the content. */
  checkStorage(signal: AbortSignal): Promise<readonly string[]>;
}
