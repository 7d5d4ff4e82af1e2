import { AppError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { BoardWatch } from "../watch-board.ts";
import { DISPATCHER, type DispatchBoard } from "./dispatch-board.ts";
import type { DispatchHost } from "./dispatch-host.ts";
import type { PassParts } from "./pass-parts.ts";
import type { PassReport } from "./pass-report.ts";
import { IdlePasses } from "./reasons/idle-passes.ts";
import type { DispatchPolicy } from "./rules/resolve-dispatch-policy.ts";
import { runPass } from "./run-pass.ts";
import { findLeaseHolder, releaseLease } from "./transactions/board-lease.ts";

/** A board that stays open between passes. */
export interface DispatchedBoard extends AsyncDisposable {
  readonly board: DispatchBoard;
  readonly host: DispatchHost;
  readonly watch: BoardWatch;
}

export interface DispatcherParts extends Pick<PassParts, "owner" | "isDead" | "clock" | "random"> {
  /** Lists the existing boards. */
  listBoards(signal: AbortSignal): Promise<readonly string[]>;
  openBoard(slug: string, signal: AbortSignal): Promise<DispatchedBoard>;
  /** Resolves when a board may have been created or repaired; without this function, only the next pass notices. */
  boardsChanged?(signal: AbortSignal): Promise<void>;
  /** Called before each pass, so that a changed setting needs no restart. */
  loadPolicy(): Promise<DispatchPolicy>;
  onPass(report: PassReport): void;
  /** Called at intervals while many passes in a row start nothing although tasks are ready. */
  onIdle(report: PassReport): void;
  /** Called each time a board fails; the board is retried with a growing delay. */
  onFailure(slug: string, error: unknown): void;
}

const CLEANUP_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;
const OVERDUE_RETRY_MS = 1_000;
const WATCH_RETRY_MS = 5_000;

/**
 * Makes passes over all boards until `signal` aborts. A pass starts when a board changes, when work is due, or at the
 * latest after the interval. A pass that is in progress at the abort claims no further tasks and is awaited.
 */
export async function runDispatcher(parts: DispatcherParts, signal: AbortSignal): Promise<void> {
  const work = new AbortController(); // never aborted, so that a pass always completes
  await using boards = new OpenBoards(parts);
  let listed = await parts.listBoards(work.signal);
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const policy = await parts.loadPolicy();
    if (!isFirst) listed = await refreshList(parts, listed, work.signal);
    const slugs = await boards.update(listed, work.signal);
    const due: number[] = [policy.intervalMs];
    for (const slug of slugs) {
      if (signal.aborted) break;
      const dueMs = await boards.pass(slug, policy, () => signal.aborted, work.signal);
      if (dueMs !== null) due.push(dueMs);
    }
    await boards.wait(Math.min(...due, boards.nextRetryMs), parts.clock, signal);
  }
}

/** Keeps the known boards while the list cannot be read, for instance because the server is down; each board is retried. */
async function refreshList(
  parts: DispatcherParts,
  known: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  try {
    return await parts.listBoards(signal);
  } catch (error) {
    parts.onFailure("all boards", error);
    return known;
  }
}

class OpenBoards implements AsyncDisposable {
  readonly #parts: DispatcherParts;
  readonly #open = new Map<string, DispatchedBoard & { readonly idle: IdlePasses }>();
  /** Boards that have failed, with the number of failures in a row and the time of the next attempt. */
  readonly #failed = new Map<string, { readonly times: number; readonly retryAt: number }>();

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
  }

  get nextRetryMs(): number {
    return Math.min(...[...this.#failed.values()].map(({ retryAt }) => this.#until(retryAt)));
  }

  #until(retryAt: number): number {
    const left = retryAt - this.#parts.clock.now();
    return left > LONGEST_RETRY_MS ? 0 : Math.max(0, left); // a longer wait means that the clock was set back
  }

  /** Opens new boards and closes removed ones; returns the slugs of the open boards. */
  async update(slugs: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    for (const slug of [...this.#open.keys()]) if (!slugs.includes(slug)) await this.#close(slug);
    for (const slug of slugs) {
      const failed = this.#failed.get(slug);
      if (this.#open.has(slug) || (failed !== undefined && this.#until(failed.retryAt) > 0)) continue;
      try {
        const opened = await this.#parts.openBoard(slug, signal);
        this.#open.set(slug, { ...opened, idle: new IdlePasses() });
      } catch (error) {
        this.#fail(slug, error);
      }
    }
    for (const slug of this.#failed.keys()) if (!slugs.includes(slug)) this.#failed.delete(slug);
    return slugs.filter((slug) => this.#open.has(slug));
  }

  /** Makes one pass; returns the milliseconds until work is due on the board, or null if the time is unknown. */
  async pass(
    slug: string,
    policy: DispatchPolicy,
    isStopping: () => boolean,
    signal: AbortSignal,
  ): Promise<number | null> {
    const opened = this.#open.get(slug);
    if (opened === undefined) return null;
    const { board, host, watch, idle: idlePasses } = opened;
    const { owner, isDead, clock, random } = this.#parts;
    try {
      await watch.mark(signal);
      const report = await runPass(
        { board, host, policy, owner, isDead, clock, random, idlePasses, isStopping },
        signal,
      );
      this.#failed.delete(slug);
      this.#parts.onPass(report);
      if (idlePasses.shouldWarn) this.#parts.onIdle(report);
      return dueIn(report);
    } catch (error) {
      this.#fail(slug, error);
      // A replaced or damaged file must be reopened; reopening a file that is merely busy does no harm.
      await this.#close(slug);
      return null;
    }
  }

  async wait(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    const done = new AbortController();
    const either = AbortSignal.any([signal, done.signal]);
    const waits = [...this.#open].map(([slug, { watch }]) =>
      watch.changed(either).catch((error: unknown) => {
        if (either.aborted) return;
        this.#parts.onFailure(slug, error);
        return clock.sleep(Math.min(ms, WATCH_RETRY_MS), either); // the next pass reports the cause
      }),
    );
    const changed = this.#parts.boardsChanged?.(either).then(() => this.#retryNow());
    if (changed !== undefined) waits.push(changed);
    try {
      await Promise.race([clock.sleep(ms, either), ...waits]).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    } finally {
      done.abort(new AppError("interrupted", "The wait has ended."));
      await Promise.allSettled(waits);
    }
  }

  #retryNow(): void {
    for (const [slug, { times }] of this.#failed) this.#failed.set(slug, { times, retryAt: 0 });
  }

  #fail(slug: string, error: unknown): void {
    const times = (this.#failed.get(slug)?.times ?? 0) + 1;
    const delay = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(20, times - 1));
    this.#failed.set(slug, { times, retryAt: this.#parts.clock.now() + delay });
    this.#parts.onFailure(slug, error);
  }

  async #close(slug: string): Promise<void> {
    const opened = this.#open.get(slug);
    this.#open.delete(slug);
    await opened?.[Symbol.asyncDispose]();
  }

  /** Releases the board leases, so that another dispatcher need not wait until they expire. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const [slug, { board }] of this.#open) {
      const signal = AbortSignal.timeout(CLEANUP_MS);
      try {
        const holder = await board.read(findLeaseHolder, signal);
        if (holder?.owner === this.#parts.owner)
          await board.write(DISPATCHER, () => releaseLease(holder.token), signal);
      } catch (error) {
        this.#parts.onFailure(slug, error); // the lease expires by itself
      }
      await this.#close(slug);
    }
  }
}

/** Uses only times of the board's clock, because the clock of this host may differ. */
function dueIn({ next_due_at: dueAt, looked_at: lookedAt }: PassReport): number | null {
  if (dueAt === null) return null;
  return dueAt > lookedAt ? dueAt - lookedAt : OVERDUE_RETRY_MS; // already due, or another dispatcher holds the lease
}
