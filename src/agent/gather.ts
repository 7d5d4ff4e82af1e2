/** Runs all items side by side and yields what they report as it comes; ends when the last one has ended. */
export async function* gather<Item, Told>(
  items: readonly Item[],
  run: (item: Item, tell: (told: Told) => void) => Promise<void>,
): AsyncGenerator<Told> {
  const told: Told[] = [];
  let wake: (() => void) | undefined;
  let failure: { readonly error: unknown } | undefined;
  let running = items.length;
  const tell = (value: Told): void => {
    told.push(value);
    wake?.();
  };
  for (const item of items)
    run(item, tell)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        running--;
        wake?.();
      });
  for (;;) {
    yield* told.splice(0);
    if (told.length > 0) continue;
    if (running === 0) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  if (failure) throw failure.error;
}
