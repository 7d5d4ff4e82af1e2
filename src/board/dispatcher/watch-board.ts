import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { boardPath, boardSchemaName } from "../board-slug.ts";
import type { BoardPlace } from "../board-store.ts";
import type { Announcements } from "../database/postgres-announcements.ts";
import type { DispatchBoard } from "./dispatch-board.ts";
import { lastEvent } from "./operations/board-lease.ts";
import { Touch } from "./touch.ts";

const POLL_MS = 1_000;
/** A file is touched before its commit can be seen, for as long as the disk takes: one look after a touch is not enough. */
const SETTLING_MS = [2, 10, 50, 250, 1_000];

/** Says when something has happened on a board, whoever did it. */
export interface BoardWatch extends Disposable {
  /** What has happened until now is no news any more. Called before looking, so that nothing falls in between. */
  mark(signal: AbortSignal): Promise<void>;
  /** Resolves when there is an event that was not there at the last mark. */
  changed(signal: AbortSignal): Promise<void>;
}

/**
 * Watches the number of a board's last event. In a file, every commit of any process touches the log beside it, which
 * the system announces at once; a server announces every change itself. Where nothing is announced, the number is asked
 * for each second.
 */
export function watchBoard(
  place: BoardPlace,
  board: DispatchBoard,
  clock: Clock,
  announcements?: Announcements,
): BoardWatch {
  const touched = new Touch();
  const watcher =
    place.databaseUrl === "" ? watchFile(boardPath(place.root, place.slug), touched) : undefined;
  const heard = announcements?.subscribe(boardSchemaName(place.slug), touched);
  if (watcher === undefined && heard === undefined) touched.breakDown();
  const settlingMs = place.databaseUrl === "" ? SETTLING_MS : [];
  let seen = -1;
  const ask = (signal: AbortSignal): Promise<number> => board.read(lastEvent, signal);
  return {
    async mark(signal) {
      touched.reset();
      seen = await ask(signal);
    },
    async changed(signal) {
      for (let look = 0; (await ask(signal)) === seen; ) {
        const pauseMs = settlingMs[look++] ?? (touched.isBroken ? POLL_MS : undefined);
        if (await nextWithin(touched, pauseMs, clock, signal)) look = 0;
      }
    },
    [Symbol.dispose]() {
      watcher?.close();
      heard?.[Symbol.dispose]();
    },
  };
}

/** Whether it was touched before the time was over, if there is one. */
export async function nextWithin(
  touched: Touch,
  ms: number | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const touch = touched.next(either).then(() => true);
  const late = ms === undefined ? [] : [clock.sleep(ms, either).then(() => false)];
  try {
    return await Promise.race([touch, ...late]);
  } finally {
    over.abort();
    await Promise.allSettled([touch, ...late]);
  }
}

/** Touches whenever a database file or its log is written to; undefined where the system has no watches left. */
export function watchFile(path: string, touched: Touch): FSWatcher | undefined {
  const name = basename(path);
  try {
    const watcher = watch(dirname(path), (_, file) => {
      if (file === null || file.startsWith(name)) touched.touch();
    });
    watcher.on("error", () => touched.breakDown()); // from now on it is asked for instead
    return watcher;
  } catch {
    return undefined; // the system may have no watches left, and asking does as well
  }
}
