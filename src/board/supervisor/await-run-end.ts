import { watchFile } from "../../lib/files/watch-file.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { waitForTouch } from "../../lib/time/wait-for-touch.ts";
import { WakeFlag } from "../../lib/time/wake-flag.ts";
import { boardPath } from "../board-slug.ts";
import type { BoardStore } from "../board-store.ts";
import type { RunOrder } from "../worker/run-order.ts";

/** The minimum time between two polls, however busy the board is. */
const PAUSE_MS = 100;
const POLL_MS = 500;
/**
 * SQLite writes the write-ahead log, which touches the watched file, before the commit becomes visible: on a busy disk seconds
 * before. So polls go on without a touch.
 */
const WATCHED_POLL_MS = 1_000;

/** Resolves soon after any process has ended the run. Polls PostgreSQL: a connection per run could exceed the server's limit. */
export async function awaitRunEnd(
  { location, run }: Pick<RunOrder, "location" | "run">,
  store: Pick<BoardStore, "findRun">,
  signal: AbortSignal,
): Promise<void> {
  const touched = new WakeFlag();
  const watcher =
    location.databaseUrl === "" ? watchFile(boardPath(location.root, location.slug), touched) : undefined;
  try {
    while (!(await hasEnded(store, run.runId, signal))) {
      const pollMs = watcher === undefined || touched.isBroken ? POLL_MS : WATCHED_POLL_MS;
      await waitForTouch(touched, pollMs, systemClock, signal);
      await systemClock.sleep(PAUSE_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return new Promise(() => undefined); // the caller no longer waits for this promise
  } finally {
    watcher?.close();
  }
}

/** False for a board that cannot be read; if it stays unreadable, the lease cannot be renewed either. */
async function hasEnded(
  store: Pick<BoardStore, "findRun">,
  runId: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return ((await store.findRun(runId, signal))?.ended_at ?? null) !== null;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
