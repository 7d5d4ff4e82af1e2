import { watchFile } from "../../lib/files/watch-file.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { waitForTouch } from "../../lib/time/wait-for-touch.ts";
import { WakeFlag } from "../../lib/time/wake-flag.ts";

/** A file is written before the commit becomes visible. A slower commit is seen when the lease of the gateway is renewed. */
const SETTLES_WITHIN_MS = 250;
const POLL_MS = 1_000;

/**
 * Calls `onChange` when another process has changed the database, such as `hermes send`. Polls only where the system cannot watch
 * files: the gateway waits most of the time. Ends when the signal aborts.
 */
export async function watchOtherProcesses(
  database: Database,
  { clock, onChange }: { readonly clock: Clock; onChange(): void },
  signal: AbortSignal,
): Promise<void> {
  const read = database.prepare<{ others: number; own: number }>(
    "select data_version as others, total_changes() as own from pragma_data_version",
  );
  const touched = new WakeFlag();
  const watcher = watchFile(database.path, touched);
  if (watcher === undefined) touched.markBroken();
  try {
    let seen = read.get();
    for (let isSettled = true; ; ) {
      const pauseMs = isSettled ? (touched.isBroken ? POLL_MS : undefined) : SETTLES_WITHIN_MS;
      const isTouched = await waitForTouch(touched, pauseMs, clock, signal);
      const now = read.get();
      if (now?.others !== seen?.others) onChange();
      isSettled = !isTouched || now?.own !== seen?.own; // a write of this process explains the touch
      seen = now;
    }
  } finally {
    watcher?.close();
  }
}
