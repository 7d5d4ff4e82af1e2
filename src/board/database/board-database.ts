import type { Steps } from "./steps.ts";

/** The database of one board, shared with other processes and, on PostgreSQL, with other hosts. */
export interface BoardDatabase extends AsyncDisposable {
  /** For messages: a path, or the address without its password. */
  readonly name: string;
  /**
   * Runs statements that only read, on one snapshot. `between` is awaited after each, for what is so long that its reader
   * must be waited for.
   */
  read<Result>(
    steps: () => Steps<Result>,
    signal: AbortSignal,
    between?: () => Promise<void>,
  ): Promise<Result>;
  /** Runs all in one transaction; `steps` is called again when the database had to undo it for the sake of another. */
  write<Result>(steps: () => Steps<Result>, signal: AbortSignal): Promise<Result>;
  /** Every damage of the storage itself; the content is the store's to check. */
  checkStorage(signal: AbortSignal): Promise<readonly string[]>;
}
