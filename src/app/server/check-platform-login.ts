import type { InboundSink } from "../../gateway/platform.ts";
import { PLATFORMS, type PlatformName } from "../../gateway/platforms/platform-registry.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import type { App } from "../app.ts";

const CONNECT_WITHIN_MS = 60_000;

/** The result of a login: the account, or why it failed. */
export type PlatformLogin =
  | { readonly account: string; readonly answersStrangers: boolean }
  | { readonly problem: string };

/** Logs in with settings that are not stored yet, and disconnects. Messages that arrive meanwhile stay on the server. */
export async function checkPlatformLogin(
  { variables, resolved }: App,
  { name, options, log }: { readonly name: PlatformName; readonly options: object; readonly log: Log },
  signal: AbortSignal,
): Promise<PlatformLogin> {
  const sink: InboundSink = {
    cursor: undefined,
    store: async () => {
      throw new Error("nothing is stored while a login is checked");
    },
    alive: () => undefined,
  };
  try {
    const { open } = await PLATFORMS[name].load();
    const parts = {
      clock: systemClock,
      log,
      variables,
      variable: resolved.variable,
      maxAttachmentBytes: 0,
    };
    // Safe: the caller has parsed the settings with the schema of this platform.
    const platform = open(options as never, parts);
    using deadline = openDeadline(signal, CONNECT_WITHIN_MS);
    await using _connection = await platform.connect(sink, deadline.signal);
    return { account: platform.account, answersStrangers: platform.capabilities.answersStrangers };
  } catch (error) {
    signal.throwIfAborted();
    return { problem: messageOf(error) };
  }
}
