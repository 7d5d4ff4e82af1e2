import type { Clock } from "../../lib/clock.ts";
import { AppError } from "../../lib/errors.ts";
import { DISPATCHER, type DispatchBoard } from "./dispatch-board.ts";
import { dispatchTick } from "./dispatch-tick.ts";
import type { DispatchHost } from "./host.ts";
import { findHolder, giveLeaseBack } from "./operations/board-lease.ts";
import type { DispatchPolicy } from "./resolve-dispatch-policy.ts";
import type { TickParts } from "./tick-parts.ts";
import type { TickReport } from "./tick-report.ts";
import type { BoardWatch } from "./watch-board.ts";

/** A board that is kept open between passes. */
export interface DispatchedBoard extends AsyncDisposable {
  readonly board: DispatchBoard;
  readonly host: DispatchHost;
  readonly watch: BoardWatch;
}

export interface DispatcherParts extends Pick<TickParts, "owner" | "isDead" | "clock" | "random"> {
  /** The boards as they are now. */
  listBoards(signal: AbortSignal): Promise<readonly string[]>;
  openBoard(slug: string, signal: AbortSignal): Promise<DispatchedBoard>;
  /** Read anew for each pass, so that a changed setting needs no restart. */
  loadPolicy(): Promise<DispatchPolicy>;
  onPass(report: TickReport): void;
  /** A board that fails is told of and tried again, after longer and longer. */
  onFailure(slug: string, error: unknown): void;
}

const CLEANUP_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;

/**
 * Passes over all boards until `signal` aborts: at once when something happens on one, when something is due, and at
 * the latest after the interval. The pass under way when it aborts claims nothing more and is waited for.
 */
export async function runDispatcher(parts: DispatcherParts, signal: AbortSignal): Promise<void> {
  const work = new AbortController(); // a pass is not cut off half way
  await using boards = new OpenBoards(parts);
  while (!signal.aborted) {
    const policy = await parts.loadPolicy();
    const slugs = await boards.update(await parts.listBoards(work.signal), work.signal);
    let dueAt = parts.clock.now() + policy.intervalMs;
    for (const slug of slugs) {
      if (signal.aborted) break;
      const nextDueAt = await boards.pass(slug, policy, () => signal.aborted, work.signal);
      if (nextDueAt !== null) dueAt = Math.min(dueAt, nextDueAt);
    }
    dueAt = Math.min(dueAt, boards.nextRetryAt);
    await boards.wait(Math.max(0, dueAt - parts.clock.now()), parts.clock, signal);
  }
}

class OpenBoards implements AsyncDisposable {
  readonly #parts: DispatcherParts;
  readonly #open = new Map<string, DispatchedBoard & { readonly gone: Set<number> }>();
  /** Boards that have failed, how often in a row, and when they are looked at again. */
  readonly #failed = new Map<string, { readonly times: number; readonly retryAt: number }>();

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
  }

  get nextRetryAt(): number {
    return Math.min(...[...this.#failed.values()].map(({ retryAt }) => retryAt));
  }

  /** Opens new boards and closes those that are gone; says which can be worked on. */
  async update(slugs: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    for (const slug of [...this.#open.keys()]) if (!slugs.includes(slug)) await this.#close(slug);
    for (const slug of slugs) {
      if (this.#open.has(slug) || (this.#failed.get(slug)?.retryAt ?? 0) > this.#parts.clock.now()) continue;
      try {
        const opened = await this.#parts.openBoard(slug, signal);
        this.#open.set(slug, { ...opened, gone: new Set() });
      } catch (error) {
        this.#fail(slug, error);
      }
    }
    for (const slug of this.#failed.keys()) if (!slugs.includes(slug)) this.#failed.delete(slug);
    return slugs.filter((slug) => this.#open.has(slug));
  }

  /** When something is due on that board next, if that is known. */
  async pass(
    slug: string,
    policy: DispatchPolicy,
    isStopping: () => boolean,
    signal: AbortSignal,
  ): Promise<number | null> {
    const opened = this.#open.get(slug);
    if (opened === undefined) return null;
    const { board, host, watch, gone } = opened;
    const { owner, isDead, clock, random } = this.#parts;
    try {
      await watch.mark(signal);
      const report = await dispatchTick(
        { board, host, policy, owner, isDead, clock, random, gone, isStopping },
        signal,
      );
      this.#failed.delete(slug);
      this.#parts.onPass(report);
      return report.next_due_at;
    } catch (error) {
      this.#fail(slug, error);
      // A file that was replaced or damaged must be opened anew; one that is only busy loses nothing by it.
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
        return clock.sleep(ms, either); // it is looked at again with the next pass
      }),
    );
    try {
      await Promise.race([clock.sleep(ms, either), ...waits]).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    } finally {
      done.abort(new AppError("interrupted", "The wait is over."));
      await Promise.allSettled(waits);
    }
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

  /** Gives the leases back, so that another dispatcher need not wait for them. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const [slug, { board }] of this.#open) {
      const signal = AbortSignal.timeout(CLEANUP_MS);
      try {
        const holder = await board.read(findHolder, signal);
        if (holder?.owner === this.#parts.owner)
          await board.write(DISPATCHER, () => giveLeaseBack(holder.token), signal);
      } catch (error) {
        this.#parts.onFailure(slug, error); // the lease ends by itself
      }
      await this.#close(slug);
    }
  }
}
