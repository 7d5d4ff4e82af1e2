/** Limits the number of turns that run at once; the others wait in order. */
export interface TurnSlots {
  /** Takes a slot as soon as one is free; disposing frees it. */
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
