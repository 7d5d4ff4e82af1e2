/** Runs things side by side, at most `limit` at a time, and hands on what they tell as it comes; ends when all have. */
export async function* gather<Item, Told>(
  items: readonly Item[],
  limit: number,
  run: (item: Item, tell: (told: Told) => void) => Promise<void>,
): AsyncGenerator<Told> {
  const told: Told[] = [];
  let wake: (() => void) | undefined;
  let failure: { readonly error: unknown } | undefined;
  let next = 0;
  let running = 0;
  const tell = (value: Told): void => {
    told.push(value);
    wake?.();
  };
  const fill = (): void => {
    while (running < limit && next < items.length) {
      const item = items[next++] as Item;
      running++;
      run(item, tell)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => {
          running--;
          fill();
          wake?.();
        });
    }
  };
  fill();
  for (;;) {
    yield* told.splice(0);
    if (told.length > 0) continue;
    if (running === 0 && next >= items.length) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  if (failure) throw failure.error;
}
