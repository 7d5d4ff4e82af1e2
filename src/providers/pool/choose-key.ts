import type { KeyState } from "./key-states.ts";
import { fingerprintOf, type PoolKey } from "./pool-key.ts";

/** The order in which the keys of a provider are used. */
export const POOL_STRATEGIES = ["fill_first", "round_robin", "least_used", "random"] as const;
export type PoolStrategy = (typeof POOL_STRATEGIES)[number];

export interface KeyChoice {
  readonly strategy: PoolStrategy;
  /** The variable of the key that the session used last; another key would lose the provider's prompt cache. */
  readonly preferred: string | undefined;
  readonly now: number;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
}

type States = ReadonlyMap<string, KeyState>;

/** The key to use next; undefined while all keys cool down. */
export function chooseKey(
  keys: readonly PoolKey[],
  states: States,
  { strategy, preferred, now, random }: KeyChoice,
): PoolKey | undefined {
  const ready = keys.filter((key) => !isCooling(stateOf(key, states), now));
  const kept = ready.find(({ source }) => source === preferred);
  if (kept !== undefined || strategy === "fill_first") return kept ?? ready[0];
  if (strategy === "random") return ready[Math.floor(random() * ready.length)];
  const rank = (key: PoolKey): number =>
    (strategy === "least_used" ? stateOf(key, states)?.uses : stateOf(key, states)?.usedAt) ?? 0;
  return ready.toSorted((one, other) => rank(one) - rank(other))[0];
}

/** The key whose cooldown ends first. */
export function firstToRecover(keys: readonly PoolKey[], states: States): PoolKey | undefined {
  const until = (key: PoolKey): number => stateOf(key, states)?.coolingUntil ?? 0;
  return keys.toSorted((one, other) => until(one) - until(other))[0];
}

export function isCooling(state: KeyState | undefined, now: number): boolean {
  return (state?.coolingUntil ?? 0) > now;
}

export function stateOf({ value }: PoolKey, states: States): KeyState | undefined {
  return states.get(fingerprintOf(value));
}
