import { startAwakeTimer } from "./awake-timer.ts";

/** A signal with a time limit; dispose of it when the work is over. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** Whether it was the time that ran out. */
  readonly isOver: boolean;
}

/**
 * Aborts when `signal` does, or after `ms` in which we could run. `AbortSignal.any` with `AbortSignal.timeout` would be
 * shorter, but on Node 20 nothing holds the time-out in it, and after a collection of garbage it never fires.
 */
export function openDeadline(signal: AbortSignal, ms: number): Deadline {
  const controller = new AbortController();
  let isOver = false;
  const relay = (): void => controller.abort(signal.reason);
  const timer = startAwakeTimer(ms, () => {
    isOver = true;
    controller.abort(new DOMException(`it took longer than ${ms} ms`, "TimeoutError"));
  });
  signal.addEventListener("abort", relay, { once: true });
  if (signal.aborted) relay();
  return {
    signal: controller.signal,
    get isOver() {
      return isOver;
    },
    [Symbol.dispose]() {
      timer[Symbol.dispose]();
      signal.removeEventListener("abort", relay);
    },
  };
}
