import type { Database } from "../../lib/sqlite/database.ts";
import type { Clock } from "../../lib/time/clock.ts";

const POLL_MS = 1_000;

/** Calls `onChange` when another process has changed the database, such as `hermes send`. Ends when the signal aborts. */
export async function watchOtherProcesses(
  database: Database,
  { clock, onChange }: { readonly clock: Clock; onChange(): void },
  signal: AbortSignal,
): Promise<void> {
  const version = database.prepare<{ data_version: number }>("pragma data_version");
  for (let seen = version.get()?.data_version; ; ) {
    await clock.sleep(POLL_MS, signal);
    const now = version.get()?.data_version;
    if (now !== seen) onChange();
    seen = now;
  }
}
