import { systemClock } from "../../../lib/time/clock.ts";
import type { SandboxData } from "../../dashboard/data/sandbox-data.ts";
import type { LiveSource } from "../live-source.ts";

/** The longest time between two checks, because no event reports that a sandbox is used or no longer used. */
const RECHECK_MS = 10_000;
/** Events within this time cause one check. */
const GATHER_MS = 300;

/** Publishes the list of a profile's sandboxes when it changes, while a page shows it. */
export function createSandboxSource(sandboxes: Pick<SandboxData, "list" | "watch">): LiveSource {
  return {
    kind: "sandboxes",
    async open(profile, sink, signal) {
      const end = new AbortController();
      const watch = await sandboxes.watch(profile, signal);
      const read = async (): Promise<string> => JSON.stringify(await sandboxes.list(profile, end.signal));
      const follow = async (): Promise<void> => {
        for (let shown = await read(); ; ) {
          await watch.next(RECHECK_MS, end.signal);
          await systemClock.sleep(GATHER_MS, end.signal);
          const now = await read();
          if (now === shown) continue;
          shown = now;
          sink.publish("sandbox-change", JSON.parse(now));
        }
      };
      const ended = follow().catch((error: unknown) => {
        if (!end.signal.aborted) sink.fail(error);
      });
      return {
        async [Symbol.asyncDispose]() {
          end.abort();
          await ended;
          await watch[Symbol.asyncDispose]();
        },
      };
    },
  };
}

/** Publishes what the running sandboxes of a profile use, once a second, while a page shows it. */
export function createLoadSource(sandboxes: Pick<SandboxData, "measure">): LiveSource {
  return {
    kind: "load",
    open: (profile, sink, signal) =>
      sandboxes.measure(
        profile,
        { sample: (load) => sink.publish("sandbox-load", load), failure: (error) => sink.fail(error) },
        signal,
      ),
  };
}
