/** A place that is looked up, or made, once for all who need it. */
export interface OneLookup<Found> {
  /** Waits for the look-up on its way or begins one; `anew` trusts nothing remembered. */
  ensure(anew: boolean, signal: AbortSignal): Promise<Found>;
  /** The next one looks again. */
  forget(): void;
  /** What was found last. */
  readonly known: Found | undefined;
}

/** One look-up at a time, however many channels are being opened; after a failure the next one tries from scratch. */
export function createOneLookup<Found>(
  find: (signal: AbortSignal) => Promise<Found>,
  onFound: (found: Found, before: Found | undefined) => void,
): OneLookup<Found> {
  let current: Promise<Found> | undefined;
  let known: Found | undefined;
  return {
    get known() {
      return known;
    },
    forget() {
      current = undefined;
    },
    async ensure(anew, signal) {
      if (anew) current = undefined;
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
