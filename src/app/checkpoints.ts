import { join } from "node:path";
import { type Checkpoints, createCheckpoints } from "../checkpoints/checkpoint-store.ts";
import { systemClock } from "../lib/time/clock.ts";
import type { App } from "./app.ts";

/** The checkpoints of the profile. */
export function createAppCheckpoints({ profile, resolved, variables }: App): Checkpoints {
  const location = { folder: join(profile.home, "checkpoints"), variables };
  return createCheckpoints(location, { options: resolved.config.checkpoints, clock: systemClock });
}
