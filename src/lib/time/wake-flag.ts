/** A wake-up flag: a touch stays set until `next` consumes it. */
export class WakeFlag {
  /** No announcements arrive, so a waiter must poll. */
  isBroken = false;
  #isTouched = false;
  #wake: (() => void) | undefined;

  touch(): void {
    this.#isTouched = true;
    this.#wake?.();
  }

  reset(): void {
    this.#isTouched = false;
  }

  /** No announcements arrive until `markWorking`. */
  markBroken(): void {
    this.isBroken = true;
    this.touch();
  }

  /** Announcements may have been missed while broken, so this counts as a touch. */
  markWorking(): void {
    this.isBroken = false;
    this.touch();
  }

  async next(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#isTouched) {
      await new Promise<void>((resolve, reject) => {
        const abort = (): void => reject(signal.reason);
        signal.addEventListener("abort", abort, { once: true });
        this.#wake = () => {
          signal.removeEventListener("abort", abort);
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#isTouched = false;
  }
}
