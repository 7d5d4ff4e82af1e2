/** A suspension of any length uses up at most one step of the time. */
const MIN_STEP_MS = 1_000;
const STEPS = 60;
const MAX_STEP_MS = 2 ** 31 - 1; // the maximum of Node's timers

/**
 * Calls `onTimeout` after `ms` in which this process could run. Time in which the process or the machine is suspended does not
 * count, because no answer can arrive then. Events that arrived in time are handled first. Dispose when the work has ended.
 */
export function openAwakeTimer(ms: number, onTimeout: () => void): Disposable {
  const maxStepMs = Math.min(Math.max(MIN_STEP_MS, ms / STEPS), MAX_STEP_MS);
  let leftMs = ms;
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;
  const step = (): void => {
    const stepMs = Math.min(leftMs, maxStepMs);
    leftMs -= stepMs;
    timer = setTimeout(() => {
      if (leftMs > 0) step();
      else immediate = setImmediate(onTimeout);
    }, stepMs);
  };
  step();
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      clearImmediate(immediate);
    },
  };
}
