import type { Clock } from "../../../lib/time/clock.ts";
import type { JobRecord } from "../job.ts";
import type { JobOutput } from "../job-output.ts";
import type { JobStore, WatchStep } from "../job-store.ts";
import type { WatchEvent } from "../jobs.ts";
import { passBreaker, releaseBreaker, type WatchBreaker } from "./watch-breaker.ts";
import { judgeHits, searchOutput } from "./watch-state.ts";

export interface WatchParts {
  readonly store: JobStore;
  readonly output: JobOutput;
  readonly clock: Clock;
  redact(text: string): string;
}

/**
 * Searches the new output of the owner's running jobs. The search position is recorded in the same transaction as the
 * decision to report, so that only one of several processes reports a hit. A hit is not reported again if the process
 * dies after the transaction.
 */
export async function takeWatchEvents(
  { store, output, clock, redact }: WatchParts,
  owner: string,
  signal: AbortSignal,
): Promise<readonly WatchEvent[]> {
  const events: WatchEvent[] = [];
  const before = store.breaker();
  const released = releaseBreaker(before, owner, clock.now());
  if (released !== undefined && (await store.setBreaker(before, released.breaker, signal)))
    events.push({ kind: "notice", message: released.notice });
  for (const job of store.list().filter((job) => job.owner === owner && job.state === "running")) {
    if (job.watch === undefined) continue;
    const { patterns, state } = job.watch;
    const piece = await output.read(job, state.offset, signal);
    const found = searchOutput(state, patterns, piece);
    if (JSON.stringify(found.state) === JSON.stringify(state)) continue; // nothing new
    const step = (breaker: WatchBreaker) => judge(job, { ...found, breaker }, clock.now(), redact);
    events.push(...((await store.stepWatch(job, step, signal)) ?? []));
  }
  return events;
}

function judge(
  job: JobRecord,
  { state, hits, breaker }: ReturnType<typeof searchOutput> & { readonly breaker: WatchBreaker },
  now: number,
  redact: WatchParts["redact"],
): WatchStep<WatchEvent[]> {
  const events: WatchEvent[] = [];
  let after = breaker;
  const verdict = judgeHits(state, hits, now, () => {
    const passage = passBreaker(breaker, job.owner, now);
    after = passage.breaker;
    if (passage.notice !== undefined) events.push({ kind: "notice", message: passage.notice });
    return passage.passes;
  });
  const { event, ended } = verdict;
  if (event !== undefined) events.push({ kind: "hits", job, ...event, lines: event.lines.map(redact) });
  if (ended !== undefined) {
    const message = `${job.id} is no longer watched: ${ended}. Its end will be reported.`;
    events.push({ kind: "watch-ended", job, message });
  }
  const watch = job.watch && ended === undefined ? { ...job.watch, state: verdict.state } : undefined;
  return { watch, breaker: after, reportsEnd: ended !== undefined, result: events };
}
