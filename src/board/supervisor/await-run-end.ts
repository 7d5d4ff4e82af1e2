import { watchFile } from "../../lib/files/watch-file.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { waitForTouch } from "../../lib/time/wait-for-touch.ts";
import { WakeFlag } from "../../lib/time/wake-flag.ts";
import { boardPath } from "../board-slug.ts";
import type { BoardStore } from "../board-store.ts";
import type { RunOrder } from "../worker/run-order.ts";

/** The minimum time between two polls, however busy the board is. */
const PAUSE_MS = 100;
/** SQLite writes the write-ahead log before the commit becomes visible, so poll once more after a file change. */
const SETTLING_MS = 1_000;
const POLL_MS = 500;

/** Resolves soon after any process has ended the run. Polls PostgreSQL: a connection per run could exceed the server's limit. */
export async function awaitRunEnd(
  { location, run }: Pick<RunOrder, "location" | "run">,
  store: BoardStore,
  signal: AbortSignal,
): Promise<void> {
  const touched = new WakeFlag();
  const watcher =
    location.databaseUrl === "" ? watchFile(boardPath(location.root, location.slug), touched) : undefined;
  try {
    for (let isSettled = false; ; ) {
      if (await hasEnded(store, run.runId, signal)) return;
      const within: number | undefined =
        watcher === undefined || touched.isBroken ? POLL_MS : isSettled ? undefined : SETTLING_MS;
      isSettled = !(await waitForTouch(touched, within, systemClock, signal));
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
async function hasEnded(store: BoardStore, runId: number, signal: AbortSignal): Promise<boolean> {
  try {
    return ((await store.findRun(runId, signal))?.ended_at ?? null) !== null;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
