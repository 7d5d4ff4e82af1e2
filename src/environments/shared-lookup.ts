/** Finds or creates a value once for all concurrent callers. After a failure the next call starts over. */
export function createSharedLookup<Found>(
  find: (signal: AbortSignal) => Promise<Found>,
  onFound: (found: Found, before: Found | undefined) => void,
) {
  let current: Promise<Found> | undefined;
  let known: Found | undefined;
  return {
    get lastFound(): Found | undefined {
      return known;
    },
    /** Makes the next `ensure` start a new lookup. */
    forget(): void {
      current = undefined;
    },
    /** Joins the lookup in progress or starts one; `refresh` ignores the remembered value. */
    async ensure(refresh: boolean, signal: AbortSignal): Promise<Found> {
      if (refresh) current = undefined;
      current ??= find(signal);
      const attempt = current;
      try {
        const found = await attempt;
        onFound(found, known);
        known = found;
        return found;
      } catch (error) {
        if (current === attempt) current = undefined;
        throw error;
      }
    },
  };
}
