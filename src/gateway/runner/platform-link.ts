import { setMaxListeners } from "node:events";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import { waitAtMost } from "../../lib/time/wait-at-most.ts";
import { type Connection, type InboundSink, type Platform, PlatformFailure } from "../platform.ts";
import type { PlatformRecord } from "./gateway-state.ts";

export interface PlatformLinkParts {
  readonly name: string;
  readonly platform: Platform;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** Stores what arrives; `cursor` is read again for each connection. */
  readonly inbox: { cursor(): string | undefined; store: InboundSink["store"] };
  /** Uses the connection until the signal aborts. */
  deliver(connection: Connection, signal: AbortSignal): Promise<void>;
  onState(state: Pick<PlatformRecord, "name" | "state" | "code" | "reason" | "attempts">): Promise<void>;
  /** Called now and then while the service is heard. */
  onHeard(name: string): Promise<void>;
}

const CONNECT_WITHIN_MS = 45_000;
const CLOSE_WITHIN_MS = 5_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;
/** A connection that lasted this long was a success: the next failure begins with a short wait again. */
const STEADY_MS = 60_000;
const HEARD_EVERY_MS = 15_000;

/**
 * Keeps one platform connected until the signal aborts. Every failure that time can heal is tried again for ever, at most five
 * minutes apart; only what needs a person waits for one. A failure of this platform touches no other.
 */
export async function keepConnected(parts: PlatformLinkParts, signal: AbortSignal): Promise<void> {
  const { name, clock, random, log, onState } = parts;
  let attempts = 0;
  while (!signal.aborted) {
    await onState({ name, state: "connecting", code: undefined, reason: undefined, attempts });
    const startedAt = clock.now();
    const failure = await connectOnce(parts, signal);
    if (failure === undefined) break;
    if (clock.now() - startedAt > STEADY_MS) attempts = 0;
    attempts++;
    const { code, message: reason } = failure;
    const state = failure.isRetryable ? "retrying" : "failed";
    await onState({ name, state, code, reason, attempts });
    log.warn("a platform is not connected", { platform: name, code, reason, attempts });
    if (!failure.isRetryable) {
      await clock.sleep(Number.MAX_SAFE_INTEGER, signal).catch(() => undefined);
      break;
    }
    const doubled = Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempts - 1, 20), LONGEST_RETRY_MS);
    const waitMs = Math.max(doubled * (0.75 + random() / 2), failure.retryAfterMs ?? 0);
    await clock.sleep(waitMs, signal).catch(() => undefined);
  }
  await onState({ name, state: "off", code: undefined, reason: undefined, attempts: 0 });
}

/** Connects and stays until the connection ends; undefined if the signal aborted. */
async function connectOnce(
  parts: PlatformLinkParts,
  signal: AbortSignal,
): Promise<PlatformFailure | undefined> {
  const { name, platform, clock, inbox, onState, onHeard } = parts;
  let heardAt = clock.now();
  let reportedAt = 0;
  const sink: InboundSink = {
    cursor: inbox.cursor(),
    store: inbox.store,
    alive() {
      heardAt = clock.now();
      if (heardAt - reportedAt < HEARD_EVERY_MS) return;
      reportedAt = heardAt;
      onHeard(name).catch(() => undefined); // a status that is a little older
    },
  };
  let connection: Connection;
  try {
    using deadline = openDeadline(signal, CONNECT_WITHIN_MS);
    connection = await platform.connect(sink, deadline.signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    if (error instanceof PlatformFailure) return error;
    return new PlatformFailure("unreachable", messageOf(error), { cause: error });
  }
  heardAt = clock.now();
  const stop = new AbortController();
  const stopping = AbortSignal.any([signal, stop.signal]);
  setMaxListeners(0, stopping); // every part that is being sent listens to it
  try {
    await onState({ name, state: "connected", code: undefined, reason: undefined, attempts: 0 });
    await onHeard(name);
    const delivery = parts.deliver(connection, stopping);
    const failure = await Promise.race([
      connection.ended,
      watchSilence(platform.capabilities.silenceLimitMs, () => heardAt, clock, stopping),
      // A delivery that fails has met a bug or a broken database; the connection is opened again after a wait.
      delivery.then(
        () => undefined,
        (error: unknown) => new PlatformFailure("not-stored", messageOf(error), { cause: error }),
      ),
    ]);
    stop.abort();
    await waitAtMost(
      CLOSE_WITHIN_MS,
      delivery.catch(() => undefined),
    );
    return signal.aborted ? undefined : failure;
  } finally {
    stop.abort();
    await waitAtMost(CLOSE_WITHIN_MS, close(connection));
  }
}

async function close(connection: Connection): Promise<void> {
  await connection[Symbol.asyncDispose]();
}

/** Resolves when nothing was heard for too long, or the signal aborts. */
async function watchSilence(
  limitMs: number,
  heardAt: () => number,
  clock: Clock,
  signal: AbortSignal,
): Promise<PlatformFailure | undefined> {
  for (;;) {
    const leftMs = heardAt() + limitMs - clock.now();
    if (leftMs <= 0)
      return new PlatformFailure("silent", `nothing was heard for ${Math.round(limitMs / 1_000)} s`);
    try {
      await clock.sleep(leftMs, signal);
    } catch {
      return undefined;
    }
  }
}
