/** A halt of any length counts as one step at most. */
const SHORTEST_STEP_MS = 1_000;
const STEPS = 60;
const LONGEST_STEP_MS = 2 ** 31 - 1; // what Node's timers can do

/**
 * Calls `onOver` after `ms` in which this process could run: while it is halted, or the machine sleeps, whoever it waits
 * for has no chance to answer either. What came in time is seen before. Dispose of it when the work is over.
 */
export function startAwakeTimer(ms: number, onOver: () => void): Disposable {
  const longest = Math.min(Math.max(SHORTEST_STEP_MS, ms / STEPS), LONGEST_STEP_MS);
  let leftMs = ms;
  let timer: NodeJS.Timeout | undefined;
  let last: NodeJS.Immediate | undefined;
  const step = (): void => {
    const stepMs = Math.min(leftMs, longest);
    leftMs -= stepMs;
    timer = setTimeout(() => {
      if (leftMs > 0) step();
      else last = setImmediate(onOver);
    }, stepMs);
  };
  step();
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      clearImmediate(last);
    },
  };
}
