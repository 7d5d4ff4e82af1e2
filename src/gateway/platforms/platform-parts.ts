import type { Log } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";

/** What a platform gets from the gateway besides its own settings. */
export interface PlatformParts {
  readonly clock: Clock;
  readonly log: Log;
  /** The environment of the process: proxies and certificate authorities. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** A variable from the environment or `.env`, for secrets that a setting refers to by the name of their variable. */
  variable(name: string): string | undefined;
  /** Larger attachments are not fetched; their message carries the reason instead. */
  readonly maxAttachmentBytes: number;
}
