/** Lets a number of turns run at once; the others wait in their order. */
export interface TurnSlots {
  /** Resolves when there is a free slot, which is taken until it is disposed. */
  take(): Promise<Disposable>;
}

export function createTurnSlots(limit: number): TurnSlots {
  let free = limit;
  const waiting: (() => void)[] = [];
  const release = (): void => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    async take() {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return { [Symbol.dispose]: release };
    },
  };
}
