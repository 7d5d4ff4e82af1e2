import { openAwakeTimer } from "./awake-timer.ts";

/** A signal with a time limit. Dispose of it when the work has ended. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  readonly isOver: boolean;
}

/**
 * Aborts when `signal` aborts, or after this process has run for `ms` milliseconds; time while it is suspended does not
 * count. `AbortSignal.any` with `AbortSignal.timeout` would be shorter, but on Node 20 the timeout signal can be
 * garbage-collected, and then it never fires.
 */
export function openDeadline(signal: AbortSignal, ms: number): Deadline {
  const controller = new AbortController();
  let isOver = false;
  const relay = (): void => controller.abort(signal.reason);
  const timer = openAwakeTimer(ms, () => {
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
