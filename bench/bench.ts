/**
 * One line of the table: our value, and the value that it is compared with (`peer`), measured in the same run. A peer is
 * another program or, where the name of the line says so, another action of this one. `ratio` is ours ÷ peer.
 */
export interface Measurement {
  readonly name: string;
  readonly ours: string;
  readonly peer: string;
  readonly ratio: number;
  /** The ratio must not exceed `max`, or must reach `min`. */
  readonly budget: { readonly max: number } | { readonly min: number };
}

/** A group of measurements under one name on the command line. */
export interface Bench {
  readonly name: string;
  run(): Promise<readonly Measurement[]>;
}

export function isWithin({ ratio, budget }: Measurement): boolean {
  return "max" in budget ? ratio <= budget.max : ratio >= budget.min;
}

/** Measures two actions alternately, so that a slow phase of the machine affects both, and returns their medians. */
export async function medians(
  rounds: number,
  ours: () => Promise<unknown> | unknown,
  peer: () => Promise<unknown> | unknown,
): Promise<{ ours: number; peer: number }> {
  const times = { ours: [] as number[], peer: [] as number[] };
  for (let round = 0; round < rounds + 2; round++) {
    for (const [name, action] of [
      ["ours", ours],
      ["peer", peer],
    ] as const) {
      const started = performance.now();
      await action();
      if (round >= 2) times[name].push(performance.now() - started); // the first two rounds warm the caches
    }
  }
  return { ours: median(times.ours), peer: median(times.peer) };
}

/** Measures one action alone, for a peer whose after-effects would disturb an alternating measurement. */
export async function medianOf(rounds: number, action: () => Promise<unknown> | unknown): Promise<number> {
  const { ours } = await medians(rounds, action, () => undefined);
  return ours;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function milliseconds(value: number): string {
  return `${value.toFixed(1)} ms`;
}
