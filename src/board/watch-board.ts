import { watchFile } from "../lib/files/watch-file.ts";
import type { Clock } from "../lib/time/clock.ts";
import { waitForTouch } from "../lib/time/wait-for-touch.ts";
import { WakeFlag } from "../lib/time/wake-flag.ts";
import { boardPath, boardSchemaName } from "./board-slug.ts";
import type { Announcements } from "./database/postgres-announcements.ts";
import type { DispatchBoard } from "./dispatcher/dispatch-board.ts";
import { readLastEventNumber } from "./dispatcher/transactions/read-last-event-number.ts";
import type { BoardLocation } from "./open-board.ts";

const POLL_MS = 1_000;
/**
 * SQLite writes the write-ahead log before the commit becomes visible, on a busy disk seconds before. So poll again with these
 * delays after a file change.
 */
const SETTLING_MS = [2, 10, 50, 250, 1_000, 4_000, 16_000];

/** Reports when any process has written an event to a board. */
export interface BoardWatch extends Disposable {
  /** Marks all events until now as seen. Called before the board is read, so that no event is missed in between. */
  mark(signal: AbortSignal): Promise<void>;
  /** Resolves when the board has an event that is newer than the last mark. */
  changed(signal: AbortSignal): Promise<void>;
}

/**
 * Watches the number of a board's last event. With SQLite, every commit of any process writes the write-ahead log, which
 * the file system announces at once; PostgreSQL announces every write itself. Without announcements, the number is polled
 * each second.
 */
export function watchBoard(
  location: BoardLocation,
  board: DispatchBoard,
  clock: Clock,
  announcements?: Announcements,
): BoardWatch {
  const touched = new WakeFlag();
  const watcher =
    location.databaseUrl === "" ? watchFile(boardPath(location.root, location.slug), touched) : undefined;
  const subscription = announcements?.subscribe(boardSchemaName(location.slug), touched);
  if (watcher === undefined && subscription === undefined) touched.markBroken();
  const settlingMs = location.databaseUrl === "" ? SETTLING_MS : [];
  let seen = -1;
  const readLastEvent = (signal: AbortSignal): Promise<number> => board.read(readLastEventNumber, signal);
  return {
    async mark(signal) {
      touched.reset();
      seen = await readLastEvent(signal);
    },
    async changed(signal) {
      for (let poll = 0; (await readLastEvent(signal)) === seen; ) {
        const pauseMs = settlingMs[poll++] ?? (touched.isBroken ? POLL_MS : undefined);
        if (await waitForTouch(touched, pauseMs, clock, signal)) poll = 0;
      }
    },
    [Symbol.dispose]() {
      watcher?.close();
      subscription?.[Symbol.dispose]();
    },
  };
}
