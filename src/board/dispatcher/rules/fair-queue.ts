/** A task in the queue. */
export interface QueuedTask {
  readonly id: string;
  readonly profile: string;
  readonly priority: number;
}

const FULL_STRIDE = 10_000;
const HIGHEST_WEIGHT = 100;
const CREDIT = 4 * FULL_STRIDE; // bounds the turns that a profile without tasks can catch up on

/** How far a started task moves its profile back in the queue; a higher priority gives a smaller stride. */
export function strideOf(priority: number): number {
  return Math.round(FULL_STRIDE / Math.min(HIGHEST_WEIGHT, Math.max(1, 1 + priority)));
}

/** Stride scheduling: profiles take turns, a higher priority gets more of them, and the tasks of a profile keep their order. */
export class FairQueue<Item extends QueuedTask> {
  readonly #queues = new Map<string, Item[]>();
  readonly #strideTotals: Map<string, number>;
  readonly #position: Map<string, number>;
  /** The lowest stride total that a profile is treated as having. */
  readonly floor: number;

  /** `strideTotals` holds the stride total of each profile from earlier passes of the dispatcher. */
  constructor(items: readonly Item[], strideTotals: ReadonlyMap<string, number>) {
    this.floor = Math.max(0, ...strideTotals.values()) - CREDIT;
    this.#strideTotals = new Map(strideTotals);
    this.#position = new Map(items.map(({ id }, index) => [id, index]));
    for (const item of items) {
      const queue = this.#queues.get(item.profile);
      if (queue === undefined) this.#queues.set(item.profile, [item]);
      else queue.push(item);
    }
    for (const queue of this.#queues.values()) queue.reverse(); // so that `pop` returns the next task
  }

  /** Removes and returns the task whose turn it is; only `serve` moves its profile back. */
  next(): Item | undefined {
    let best: { item: Item; due: number } | undefined;
    for (const queue of this.#queues.values()) {
      const item = queue.at(-1);
      if (item === undefined) continue;
      const due = this.#totalOf(item.profile) + strideOf(item.priority);
      if (best === undefined || due < best.due || (due === best.due && this.#isBefore(item, best.item)))
        best = { item, due };
    }
    if (best !== undefined) this.#queues.get(best.item.profile)?.pop();
    return best?.item;
  }

  serve({ profile, priority }: Item): void {
    this.#strideTotals.set(profile, this.#totalOf(profile) + strideOf(priority));
  }

  #totalOf(profile: string): number {
    return Math.max(this.floor, this.#strideTotals.get(profile) ?? 0);
  }

  #isBefore(item: Item, other: Item): boolean {
    if (item.priority !== other.priority) return item.priority > other.priority;
    return (this.#position.get(item.id) ?? 0) < (this.#position.get(other.id) ?? 0);
  }
}
