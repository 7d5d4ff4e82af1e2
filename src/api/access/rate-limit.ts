const WINDOW_MS = 60_000;
const MAX_IN_WINDOW = 10;
/** Limits the memory that an attacker with many addresses can fill. */
const MAX_ADDRESSES = 10_000;

/** All addresses of a 64-bit IPv6 network count as one, because one machine may use all of them. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = address.split("::");
  const [first, last] = [head, tail].map((half) => (half === "" ? [] : half.split(":")));
  const missing = Math.max(0, 8 - (first?.length ?? 0) - (last?.length ?? 0));
  return [...(first ?? []), ...Array<string>(missing).fill("0"), ...(last ?? [])].slice(0, 4).join(":");
}

/** Counts the attempts of an address. */
export interface RateLimit {
  /** Counts an attempt; returns false from the eleventh within a minute on. */
  allows(address: string): boolean;
}

export function createRateLimit(now: () => number): RateLimit {
  const attempts = new Map<string, number[]>();
  return {
    allows(browser) {
      const address = networkOf(browser);
      const time = now();
      const recent = (attempts.get(address) ?? []).filter((at) => time - at < WINDOW_MS);
      const isAllowed = recent.length < MAX_IN_WINDOW;
      if (isAllowed) recent.push(time);
      attempts.delete(address); // the map is ordered by the last attempt
      attempts.set(address, recent);
      const [oldest] = attempts.keys();
      if (attempts.size > MAX_ADDRESSES && oldest !== undefined) attempts.delete(oldest);
      return isAllowed;
    },
  };
}
