import type { Clock } from "../../lib/clock.ts";
import { AppError } from "../../lib/errors.ts";
import { DISPATCHER, type DispatchBoard } from "./dispatch-board.ts";
import { dispatchTick } from "./dispatch-tick.ts";
import type { DispatchHost } from "./host.ts";
import { IdlePasses } from "./idle-passes.ts";
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
  /** Resolves when boards may be new, or work again; without it the next pass finds out. */
  boardsChanged?(signal: AbortSignal): Promise<void>;
  /** Read anew for each pass, so that a changed setting needs no restart. */
  loadPolicy(): Promise<DispatchPolicy>;
  onPass(report: TickReport): void;
  /** Many passes in a row have started nothing although tasks were ready; told of now and then. */
  onIdle(report: TickReport): void;
  /** A board that fails is told of and tried again, after longer and longer. */
  onFailure(slug: string, error: unknown): void;
}

const CLEANUP_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;
const OVERDUE_RETRY_MS = 1_000;
const WATCH_RETRY_MS = 5_000;

/**
 * Passes over all boards until `signal` aborts: at once when something happens on one, when something is due, and at
 * the latest after the interval. The pass under way when it aborts claims nothing more and is waited for.
 */
export async function runDispatcher(parts: DispatcherParts, signal: AbortSignal): Promise<void> {
  const work = new AbortController(); // a pass is not cut off half way
  await using boards = new OpenBoards(parts);
  let listed = await parts.listBoards(work.signal);
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const policy = await parts.loadPolicy();
    if (!isFirst) listed = await listAgain(parts, listed, work.signal);
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

/** A server that is away takes the known boards with it, and each of them is tried again. */
async function listAgain(
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
  /** Boards that have failed, how often in a row, and when they are looked at again. */
  readonly #failed = new Map<string, { readonly times: number; readonly retryAt: number }>();

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
  }

  get nextRetryMs(): number {
    return Math.min(...[...this.#failed.values()].map(({ retryAt }) => this.#until(retryAt)));
  }

  #until(retryAt: number): number {
    const left = retryAt - this.#parts.clock.now();
    return left > LONGEST_RETRY_MS ? 0 : Math.max(0, left); // so long only because the clock was put back
  }

  /** Opens new boards and closes those that are gone; says which can be worked on. */
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

  /** In how many milliseconds something is due on that board next, if that is known. */
  async pass(
    slug: string,
    policy: DispatchPolicy,
    isStopping: () => boolean,
    signal: AbortSignal,
  ): Promise<number | null> {
    const opened = this.#open.get(slug);
    if (opened === undefined) return null;
    const { board, host, watch, idle } = opened;
    const { owner, isDead, clock, random } = this.#parts;
    try {
      await watch.mark(signal);
      const report = await dispatchTick(
        { board, host, policy, owner, isDead, clock, random, idle, isStopping },
        signal,
      );
      this.#failed.delete(slug);
      this.#parts.onPass(report);
      if (idle.isNews) this.#parts.onIdle(report);
      return dueIn(report);
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
        return clock.sleep(Math.min(ms, WATCH_RETRY_MS), either); // the next pass finds out what is wrong with it
      }),
    );
    const changed = this.#parts.boardsChanged?.(either).then(() => this.#forgive());
    if (changed !== undefined) waits.push(changed);
    try {
      await Promise.race([clock.sleep(ms, either), ...waits]).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    } finally {
      done.abort(new AppError("interrupted", "The wait is over."));
      await Promise.allSettled(waits);
    }
  }

  #forgive(): void {
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

/** By the clock of the board alone: that of this host may be another. */
function dueIn({ next_due_at: dueAt, looked_at: lookedAt }: TickReport): number | null {
  if (dueAt === null) return null;
  return dueAt > lookedAt ? dueAt - lookedAt : OVERDUE_RETRY_MS; // it came due during the pass, or another leads
}
