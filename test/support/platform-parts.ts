import type { PlatformParts } from "../../src/gateway/platforms/platform-parts.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { silentLog } from "./silent-log.ts";

/** What a platform gets from the gateway, with nothing in its environment. */
export function platformParts(change: Partial<PlatformParts> = {}): PlatformParts {
  return {
    clock: systemClock,
    log: silentLog,
    variables: {},
    variable: () => undefined,
    maxAttachmentBytes: 1_000_000,
    ...change,
  };
}
