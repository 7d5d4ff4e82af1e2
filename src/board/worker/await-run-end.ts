import { systemClock } from "../../lib/clock.ts";
import { boardPath } from "../board-slug.ts";
import type { BoardStore } from "../board-store.ts";
import { Touch } from "../dispatcher/touch.ts";
import { nextWithin, watchFile } from "../dispatcher/watch-board.ts";
import type { RunOrder } from "./run-order.ts";

/** At least this long between two looks, however busy the board is. */
const PAUSE_MS = 100;
/** A file is touched before its commit can be seen: after a touch there is one more look. */
const SETTLING_MS = 1_000;
const POLL_MS = 500;

/**
 * Resolves soon after a run was ended, by whomever and on whatever host. A file announces that something was written to
 * it; a server is asked, because one more connection for each run is more than it may have.
 */
export async function awaitRunEnd(
  { place, run }: Pick<RunOrder, "place" | "run">,
  store: BoardStore,
  signal: AbortSignal,
): Promise<void> {
  const touched = new Touch();
  const watcher =
    place.databaseUrl === "" ? watchFile(boardPath(place.root, place.slug), touched) : undefined;
  try {
    for (let isSettled = false; ; ) {
      if (await isOver(store, run.runId, signal)) return;
      const within: number | undefined =
        watcher === undefined || touched.isBroken ? POLL_MS : isSettled ? undefined : SETTLING_MS;
      isSettled = !(await nextWithin(touched, within, systemClock, signal));
      await systemClock.sleep(PAUSE_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return new Promise(() => undefined); // something else happened first
  } finally {
    watcher?.close();
  }
}

/** A board that cannot be read says nothing; the lease finds out whether it stays so. */
async function isOver(store: BoardStore, runId: number, signal: AbortSignal): Promise<boolean> {
  try {
    return ((await store.findRun(runId, signal))?.ended_at ?? null) !== null;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
