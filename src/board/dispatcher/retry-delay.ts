const FIRST_MS = 15_000;
const LONGEST_MS = 3_600_000;

/** How long a task waits after its nth failure in a row: twice as long each time, and never all at the same moment. */
export function retryDelayMs(failures: number, random: () => number): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(20, Math.max(0, failures - 1)));
  return Math.round(full / 2 + (full / 2) * random());
}
