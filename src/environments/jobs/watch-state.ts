import { headOf } from "../../lib/shorten.ts";

/** One notification per window; what comes sooner is dropped and makes the window a strike. */
export const WATCH_WINDOW_MS = 15_000;
const STRIKES = 3;
const DELIVERIES = 8;
const EVENT_LINES = 20;
const EVENT_CHARS = 2_000;
const LONGEST_LINE_BYTES = 16 * 1024;

/** How far the watching of one job has come; a plain value, kept with its record. */
export interface WatchState {
  /** The byte of the output at which the first line begins that has not been searched whole. */
  readonly offset: number;
  /** A part of that line was a hit already. */
  readonly wasHit: boolean;
  /** Until when the next hit would be too soon. */
  readonly quietUntil: number;
  readonly isStrike: boolean;
  /** Windows before this one, without a clean one between, in which hits were dropped. */
  readonly strikes: number;
  readonly deliveries: number;
  /** Hits that were dropped since the last notification. */
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

/** Lines that hit, and how many more there were that nobody is shown. */
export interface WatchHits {
  readonly lines: readonly string[];
  readonly dropped: number;
}

export interface WatchVerdict {
  readonly state: WatchState;
  readonly event: WatchHits | undefined;
  /** Why watching is over; undefined while it goes on. */
  readonly ended: string | undefined;
}

/** Searches output that begins at `from`; a line that is not whole yet is searched too, but is a hit only once. */
export function searchOutput(
  state: WatchState,
  patterns: readonly string[],
  output: { readonly from: number; readonly bytes: Buffer },
): { readonly state: WatchState; readonly hits: readonly string[] } {
  const hits: string[] = [];
  let { offset, wasHit } = state;
  if (output.from > offset) [offset, wasHit] = [output.from, false]; // what was between is gone
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
  // A line without end would be read again and again.
  if (output.bytes.length - at > LONGEST_LINE_BYTES) at = output.bytes.length;
  return { state: { ...state, offset: output.from + at, wasHit }, hits };
}

/** Decides what becomes of hits. `mayPass` is asked only when an event would be told. */
export function judgeHits(
  state: WatchState,
  hits: readonly string[],
  now: number,
  mayPass: () => boolean,
): WatchVerdict {
  if (hits.length === 0) return { state, event: undefined, ended: undefined };
  const dropped = state.dropped + hits.length;
  if (now < state.quietUntil) {
    const next = { ...state, isStrike: true, dropped };
    const isOver = state.strikes + 1 >= STRIKES;
    const ended = `hits came too fast in ${STRIKES} windows in a row`;
    return { state: next, event: undefined, ended: isOver ? ended : undefined };
  }
  if (!mayPass()) return { state: { ...state, dropped }, event: undefined, ended: undefined };
  const lines = cut(hits);
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
    ended: deliveries >= DELIVERIES ? `it has told of ${DELIVERIES} hits` : undefined,
  };
}

function cut(hits: readonly string[]): string[] {
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
