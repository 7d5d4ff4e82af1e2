import type { Log } from "../../lib/log/log.ts";
import { releaseMemory } from "../../lib/process/release-memory.ts";
import type { Clock } from "../../lib/time/clock.ts";

const EVERY_MS = 300_000;
/** After this time, the platforms are usually connected and the boards open. */
const STARTED_AFTER_MS = 5_000;
const MB = 1024 * 1024;

/** Logs how much memory the process uses: at its start, every five minutes, and at its end. Releases memory that only the start needed. */
export async function logMemory(
  {
    log,
    clock,
    openConversations,
  }: { readonly log: Log; readonly clock: Clock; openConversations(): number },
  signal: AbortSignal,
): Promise<void> {
  const write = (when: string): void => {
    const { rss, heapUsed, external } = process.memoryUsage();
    log.info("memory", {
      when,
      rssMb: Math.round(rss / MB),
      heapMb: Math.round(heapUsed / MB),
      externalMb: Math.round(external / MB),
      handles: process.getActiveResourcesInfo().length,
      openConversations: openConversations(),
      uptimeSeconds: Math.round(process.uptime()),
    });
  };
  write("start");
  try {
    await clock.sleep(STARTED_AFTER_MS, signal);
    if (openConversations() === 0) await releaseMemory(); // it blocks the process for a moment, so not while it works
    for (;;) {
      await clock.sleep(EVERY_MS, signal);
      write("running");
    }
  } catch {
    write("end"); // the sleep ends with the signal
  }
}
