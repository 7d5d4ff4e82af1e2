import { systemClock } from "../../../lib/time/clock.ts";
import type { SetupStamps } from "../../dashboard/data/setup-stamps.ts";
import type { LiveSource } from "../live-source.ts";

const PAUSE_MS = 700;

/** Publishes which profiles have changed settings or platforms, and changes of the profiles themselves. */
export function createSetupSource(stamps: SetupStamps): LiveSource {
  return {
    kind: "always",
    async open(_name, sink) {
      const end = new AbortController();
      const first = await stamps.read();
      const follow = async (): Promise<void> => {
        for (let seen = first; ; ) {
          await systemClock.sleep(PAUSE_MS, end.signal);
          const now = await stamps.read();
          for (const profile of differing(seen.settings, now.settings))
            sink.publish("settings-change", { profile });
          for (const profile of differing(seen.gateways, now.gateways))
            sink.publish("platform-change", { profile });
          if (seen.profiles !== now.profiles) sink.publish("profile-change", {});
          seen = now;
        }
      };
      const ended = follow().catch((error: unknown) => {
        if (!end.signal.aborted) sink.fail(error);
      });
      return {
        async [Symbol.asyncDispose]() {
          end.abort();
          await ended;
        },
      };
    },
  };
}

function* differing(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Generator<string> {
  for (const [name, stamp] of after) if (before.get(name) !== stamp) yield name;
}
