/** What waits for its turn. */
export interface Waiting {
  readonly id: string;
  readonly profile: string;
  readonly priority: number;
}

const FULL_STRIDE = 10_000;
const HIGHEST_WEIGHT = 100;
const CREDIT = 4 * FULL_STRIDE; // what a profile that was away can claim before the others have their turn again

/** How far a task moves its profile back in the queue: the higher its priority, the less. */
export function strideOf(priority: number): number {
  return Math.round(FULL_STRIDE / Math.min(HIGHEST_WEIGHT, Math.max(1, 1 + priority)));
}

/**
 * Tasks in the order of weighted turns between their profiles (stride scheduling): no profile waits for all tasks of
 * another, a higher priority has more turns, and within a profile tasks stay in the order in which they came.
 */
export class FairQueue<Item extends Waiting> {
  readonly #queues = new Map<string, Item[]>();
  readonly #passes: Map<string, number>;
  readonly #place: Map<string, number>;
  /** Nobody is further ahead than this. */
  readonly floor: number;

  /** `passes` is how far each profile has come in earlier passes. */
  constructor(items: readonly Item[], passes: ReadonlyMap<string, number>) {
    this.floor = Math.max(0, ...passes.values()) - CREDIT;
    this.#passes = new Map(passes);
    this.#place = new Map(items.map(({ id }, index) => [id, index]));
    for (const item of items) {
      const queue = this.#queues.get(item.profile);
      if (queue === undefined) this.#queues.set(item.profile, [item]);
      else queue.push(item);
    }
    for (const queue of this.#queues.values()) queue.reverse(); // so that the next one is taken off the end
  }

  /** Takes the task whose turn it is; its profile moves back only by `serve`. */
  next(): Item | undefined {
    let best: { item: Item; due: number } | undefined;
    for (const queue of this.#queues.values()) {
      const item = queue.at(-1);
      if (item === undefined) continue;
      const due = this.#passOf(item.profile) + strideOf(item.priority);
      if (best === undefined || due < best.due || (due === best.due && this.#isBefore(item, best.item)))
        best = { item, due };
    }
    if (best !== undefined) this.#queues.get(best.item.profile)?.pop();
    return best?.item;
  }

  serve({ profile, priority }: Item): void {
    this.#passes.set(profile, this.#passOf(profile) + strideOf(priority));
  }

  #passOf(profile: string): number {
    return Math.max(this.floor, this.#passes.get(profile) ?? 0);
  }

  #isBefore(item: Item, other: Item): boolean {
    if (item.priority !== other.priority) return item.priority > other.priority;
    return (this.#place.get(item.id) ?? 0) < (this.#place.get(other.id) ?? 0);
  }
}
