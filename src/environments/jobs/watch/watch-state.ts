import { headOf } from "../../../lib/text/shorten.ts";

/** One notification per window; further hits in the window are dropped and make it a strike. */
export const WATCH_WINDOW_MS = 15_000;
const STRIKES = 3;
const DELIVERIES = 8;
const EVENT_LINES = 20;
const EVENT_CHARS = 2_000;
const MAX_LINE_BYTES = 16 * 1024;

/** The progress of watching one job; a plain value, stored with the job's record. */
export interface WatchState {
  /** The offset of the first line that has not been searched completely. */
  readonly offset: number;
  /** Whether a part of that line was already a hit. */
  readonly wasHit: boolean;
  /** Hits before this time are dropped. */
  readonly quietUntil: number;
  readonly isStrike: boolean;
  /** The number of consecutive windows before this one in which hits were dropped. */
  readonly strikes: number;
  readonly deliveries: number;
  /** Hits dropped since the last notification. */
  readonly dropped: number;
}

export const NEW_WATCH: WatchState = {
  offset: 0,
  wasHit: false,
  quietUntil: 0,
  isStrike: false,
  strikes: 0,
  deliveries: 0,
  dropped: 0,
};

/** Matching lines, and the number of further hits that are not shown. */
export interface WatchHits {
  readonly lines: readonly string[];
  readonly dropped: number;
}

/** Searches output that starts at `from`. An incomplete line is searched too, but counts as a hit only once. */
export function searchOutput(
  state: WatchState,
  patterns: readonly string[],
  output: { readonly from: number; readonly bytes: Buffer },
): { readonly state: WatchState; readonly hits: readonly string[] } {
  const hits: string[] = [];
  let { offset, wasHit } = state;
  if (output.from > offset) [offset, wasHit] = [output.from, false]; // the output in between was dropped
  let at = offset - output.from;
  const search = (end: number): void => {
    const line = output.bytes.toString("utf8", at, end);
    if (wasHit || !patterns.some((pattern) => line.includes(pattern))) return;
    hits.push(line.replace(/\r$/, ""));
    wasHit = true;
  };
  for (let end = output.bytes.indexOf(10, at); end !== -1; end = output.bytes.indexOf(10, at)) {
    search(end);
    [at, wasHit] = [end + 1, false];
  }
  if (at < output.bytes.length) search(output.bytes.length);
  // Skip an endless line, which would otherwise be read again on every call.
  if (output.bytes.length - at > MAX_LINE_BYTES) at = output.bytes.length;
  return { state: { ...state, offset: output.from + at, wasHit }, hits };
}

/**
 * Decides whether hits are reported. `mayPass` is called only for an event that would be reported. `ended` is the reason
 * why watching ended; undefined while it continues.
 */
export function judgeHits(
  state: WatchState,
  hits: readonly string[],
  now: number,
  mayPass: () => boolean,
): { readonly state: WatchState; readonly event: WatchHits | undefined; readonly ended: string | undefined } {
  if (hits.length === 0) return { state, event: undefined, ended: undefined };
  const dropped = state.dropped + hits.length;
  if (now < state.quietUntil) {
    const next = { ...state, isStrike: true, dropped };
    const isLastStrike = state.strikes + 1 >= STRIKES;
    const reason = `too many hits in ${STRIKES} consecutive windows`;
    return { state: next, event: undefined, ended: isLastStrike ? reason : undefined };
  }
  if (!mayPass()) return { state: { ...state, dropped }, event: undefined, ended: undefined };
  const lines = limitLines(hits);
  const deliveries = state.deliveries + 1;
  return {
    state: {
      ...state,
      quietUntil: now + WATCH_WINDOW_MS,
      strikes: state.isStrike ? state.strikes + 1 : 0,
      isStrike: false,
      deliveries,
      dropped: 0,
    },
    event: { lines, dropped: dropped - lines.length },
    ended: deliveries >= DELIVERIES ? `${DELIVERIES} notifications were sent` : undefined,
  };
}

function limitLines(hits: readonly string[]): string[] {
  const lines: string[] = [];
  let left = EVENT_CHARS;
  for (const hit of hits.slice(0, EVENT_LINES)) {
    if (left <= 0) break;
    const line = headOf(hit, left);
    lines.push(line);
    left -= line.length + 1;
  }
  return lines;
}
