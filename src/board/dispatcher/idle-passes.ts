import { OUTCOMES, type TickReport } from "./tick-report.ts";

/** So many in a row are worth a word. */
export const MANY_IDLE = 6;
const WARN_EVERY_MS = 300_000;

/**
 * Counts the passes in a row that started nothing although tasks were ready. Passes follow each event of a busy board
 * at once, so that only one in each interval counts.
 */
export class IdlePasses {
  #count: { passes: number; readonly since: number; countedAt: number } | undefined;
  #warnedAt: number | undefined;
  #isNews = false;

  /** Whether the last pass was one too many; true again only after a while. */
  get isNews(): boolean {
    return this.#isNews;
  }

  get current(): TickReport["idle"] {
    return this.#count === undefined ? null : { passes: this.#count.passes, since: this.#count.since };
  }

  count(report: TickReport, intervalMs: number): void {
    const { looked_at: now, paused, spawned } = report;
    const isIdle = !paused && spawned.length === 0 && OUTCOMES.some((outcome) => report[outcome].length > 0);
    this.#isNews = false;
    if (!isIdle) this.#count = undefined;
    else if (this.#count === undefined) this.#count = { passes: 1, since: now, countedAt: now };
    else if (isLater(this.#count.countedAt, now, intervalMs)) {
      this.#count.passes++;
      this.#count.countedAt = now;
      this.#isNews = this.#count.passes >= MANY_IDLE && isLater(this.#warnedAt ?? 0, now, WARN_EVERY_MS);
      if (this.#isNews) this.#warnedAt = now;
    }
  }
}

/** Also when the clock was put back, which must not stop the count. */
function isLater(at: number, now: number, ms: number): boolean {
  return now < at || now - at >= ms;
}
