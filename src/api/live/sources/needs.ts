import { systemClock } from "../../../lib/time/clock.ts";
import type { DashboardData } from "../../dashboard/dashboard-parts.ts";
import { collectNeeds } from "../../dashboard/routes/overview/collect-needs.ts";
import type { LiveSource } from "../live-source.ts";

/** The shortest time between two checks. */
const PAUSE_MS = 1_000;
/** The longest time between two checks: changed settings, reached limits and exited dispatchers are not reported. */
const RECHECK_MS = 15_000;

/** Publishes what waits for a person when it changes, while any page is open. */
export function createNeedsSource(data: DashboardData): LiveSource {
  return {
    kind: "always",
    async open(_name, sink, signal) {
      const end = new AbortController();
      const changes = await data.changes.watch(signal);
      const read = async (): Promise<string> => JSON.stringify(await collectNeeds(data, end.signal));
      const first = await read().catch(async (error: unknown) => {
        await changes[Symbol.asyncDispose]();
        throw error;
      });
      const follow = async (): Promise<void> => {
        for (let shown = first; ; ) {
          await changes.next(RECHECK_MS, end.signal);
          await systemClock.sleep(PAUSE_MS, end.signal);
          const now = await read();
          if (now === shown) continue;
          shown = now;
          sink.publish("needs-change", { needs: JSON.parse(now) });
        }
      };
      const ended = follow().catch((error: unknown) => {
        if (!end.signal.aborted) sink.fail(error);
      });
      return {
        async [Symbol.asyncDispose]() {
          end.abort();
          await ended;
          await changes[Symbol.asyncDispose]();
        },
      };
    },
  };
}
