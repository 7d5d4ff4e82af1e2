/** Remembers that something was touched until someone has waited for it. */
export class Touch {
  /** Nothing is announced at present: whoever waits must look for itself. */
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

  breakDown(): void {
    this.isBroken = true;
    this.touch();
  }

  /** What was missed meanwhile counts as a touch. */
  mend(): void {
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
