import { OUTCOMES, type PassReport } from "../pass-report.ts";

/** The number of idle passes in a row that triggers a warning. */
export const MANY_IDLE = 6;
const WARN_EVERY_MS = 300_000;

/** Counts the passes in a row that started nothing although tasks were ready: one per interval, however busy the board is. */
export class IdlePasses {
  #count: { passes: number; readonly since: number; countedAt: number } | undefined;
  #warnedAt: number | undefined;
  /** Whether the last pass should trigger a warning; true at most once per five minutes. */
  shouldWarn = false;

  get current(): PassReport["idle"] {
    return this.#count === undefined ? null : { passes: this.#count.passes, since: this.#count.since };
  }

  count(report: PassReport, intervalMs: number): void {
    const { looked_at: now, paused, spawned } = report;
    const isIdle = !paused && spawned.length === 0 && OUTCOMES.some((outcome) => report[outcome].length > 0);
    this.shouldWarn = false;
    if (!isIdle) this.#count = undefined;
    else if (this.#count === undefined) this.#count = { passes: 1, since: now, countedAt: now };
    else if (isLater(this.#count.countedAt, now, intervalMs)) {
      this.#count.passes++;
      this.#count.countedAt = now;
      this.shouldWarn = this.#count.passes >= MANY_IDLE && isLater(this.#warnedAt ?? 0, now, WARN_EVERY_MS);
      if (this.shouldWarn) this.#warnedAt = now;
    }
  }
}

/** Also true when the clock was set back, which must not stop the count. */
function isLater(at: number, now: number, ms: number): boolean {
  return now < at || now - at >= ms;
}
