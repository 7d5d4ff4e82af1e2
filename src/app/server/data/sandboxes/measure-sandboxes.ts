import type { SandboxLoad } from "../../../../api/contract/machines/sandboxes.ts";
import type { SandboxData } from "../../../../api/dashboard/data/sandbox-data.ts";
import { followLoad, type LoadSample } from "../../../../environments/docker/watch/container-load.ts";
import { AppError } from "../../../../lib/errors.ts";
import { systemClock } from "../../../../lib/time/clock.ts";
import type { LoadProfile } from "../load-profile.ts";
import { hasContainers, openProfileDocker } from "./profile-docker.ts";

const PUBLISH_EVERY_MS = 1_000;
/** How often the set of running sandboxes is checked. */
const RECHECK_MS = 5_000;

interface Measurement {
  readonly load: LoadProfile;
  readonly list: SandboxData["list"];
  readonly profile: string;
  readonly on: Parameters<SandboxData["measure"]>[1];
}

/** Measures the running sandboxes of a profile, also those that are started later. */
export async function measureSandboxes(
  { load, list, profile, on }: Measurement,
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  signal.throwIfAborted();
  await load(profile); // throws if there is no such profile
  const end = new AbortController();
  const findRunning = async (): Promise<readonly string[]> =>
    (await list(profile, end.signal)).rows.filter(({ state }) => state === "running").map(({ id }) => id);

  const measure = async (ids: readonly string[]): Promise<void> => {
    const { engine } = await openProfileDocker(await load(profile), { recover: false }, end.signal);
    const latest = new Map<string, LoadSample>();
    await using followed = followLoad(engine, ids, (sample) => latest.set(sample.id, sample));
    for (let nextCheck = Date.now() + RECHECK_MS; ; ) {
      await Promise.race([systemClock.sleep(PUBLISH_EVERY_MS, end.signal), followed.failed]);
      const samples = [...latest.values()];
      latest.clear();
      if (samples.length > 0) on.sample({ profile, takenAt: Date.now(), samples } satisfies SandboxLoad);
      if (Date.now() < nextCheck) continue;
      nextCheck = Date.now() + RECHECK_MS;
      if (!isSame(await findRunning(), ids)) return;
    }
  };
  const run = async (): Promise<void> => {
    for (;;) {
      const ids = hasContainers(await load(profile)) ? await findRunning() : [];
      if (ids.length === 0) await systemClock.sleep(RECHECK_MS, end.signal);
      else
        await measure(ids).catch(async (error: unknown) => {
          // The last of the containers may have been stopped, which ends the measurement of the engine.
          if (!(error instanceof AppError) || isSame(await findRunning(), ids)) throw error;
        });
    }
  };
  const ended = run().catch((error: unknown) => {
    if (!end.signal.aborted) on.failure(error);
  });
  return {
    async [Symbol.asyncDispose]() {
      end.abort();
      await ended;
    },
  };
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id) => other.includes(id));
}
