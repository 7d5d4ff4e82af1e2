import type { SandboxWatch } from "../../../../api/dashboard/data/sandbox-data.ts";
import { followContainerEvents } from "../../../../environments/docker/watch/container-events.ts";
import { AppError } from "../../../../lib/errors.ts";
import { systemClock } from "../../../../lib/time/clock.ts";
import { waitForTouch } from "../../../../lib/time/wait-for-touch.ts";
import { WakeFlag } from "../../../../lib/time/wake-flag.ts";
import type { LoadProfile } from "../load-profile.ts";
import { hasContainers, openProfileDocker } from "./profile-docker.ts";

/** Watches the containers of a profile's engine. Without an engine, only time passes. */
export async function watchSandboxes(
  load: LoadProfile,
  profile: string,
  signal: AbortSignal,
): Promise<SandboxWatch> {
  const app = await load(profile);
  const touched = new WakeFlag();
  const followed = hasContainers(app)
    ? await openProfileDocker(app, { recover: false }, signal).then(
        ({ engine }) => followContainerEvents(engine, () => touched.touch()),
        (error: unknown) => {
          if (error instanceof AppError) return undefined; // the list reports the problem
          throw error;
        },
      )
    : undefined;
  return {
    async next(atMostMs, within) {
      const waiting = waitForTouch(touched, atMostMs, systemClock, within);
      await (followed === undefined ? waiting : Promise.race([waiting, followed.failed]));
    },
    async [Symbol.asyncDispose]() {
      await followed?.[Symbol.asyncDispose]();
    },
  };
}
