import { setMaxListeners } from "node:events";
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import { waitAtMost } from "../../lib/time/wait-at-most.ts";
import { type Connection, type InboundSink, type Platform, PlatformFailure } from "../platform.ts";
import type { PlatformReport } from "./gateway-state.ts";

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
  onState(state: PlatformReport): void;
  /** Called at intervals while signs of life of the service arrive. */
  onHeard(name: string): void;
}

const CONNECT_WITHIN_MS = 45_000;
const CLOSE_WITHIN_MS = 5_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;
/** After a connection of this length, the next failure is followed by a short wait again. */
const STEADY_MS = 60_000;
/** Each report is a write to the disk. */
const HEARD_EVERY_MS = 60_000;

/**
 * Keeps one platform connected until the signal aborts. After a temporary failure it connects again, without limit and at most
 * five minutes later; a failure that only a person can fix ends the attempts. Other platforms are not affected.
 */
export async function keepConnected(parts: PlatformLinkParts, signal: AbortSignal): Promise<void> {
  const { name, clock, random, log, onState } = parts;
  let attempts = 0;
  while (!signal.aborted) {
    onState({ name, state: "connecting", code: undefined, reason: undefined, attempts });
    const startedAt = clock.now();
    const failure = await connectOnce(parts, signal);
    if (failure === undefined) break;
    if (clock.now() - startedAt > STEADY_MS) attempts = 0;
    attempts++;
    const { code, message: reason } = failure;
    const state = failure.isRetryable ? "retrying" : "failed";
    onState({ name, state, code, reason, attempts });
    log.warn("a platform is not connected", { platform: name, code, reason, attempts });
    if (!failure.isRetryable) {
      await clock.sleep(Number.MAX_SAFE_INTEGER, signal).catch(() => undefined);
      break;
    }
    const doubled = Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempts - 1, 20), LONGEST_RETRY_MS);
    const waitMs = Math.max(doubled * (0.75 + random() / 2), failure.retryAfterMs ?? 0);
    await clock.sleep(waitMs, signal).catch(() => undefined);
  }
  onState({ name, state: "off", code: undefined, reason: undefined, attempts: 0 });
}

/** Connects and stays until the connection ends; undefined if the signal aborted. */
async function connectOnce(
  parts: PlatformLinkParts,
  signal: AbortSignal,
): Promise<PlatformFailure | undefined> {
  const { name, platform, clock, inbox, onState, onHeard } = parts;
  let heardAt = clock.now();
  let reportedAt = 0;
  let storing = 0;
  const sink: InboundSink = {
    cursor: inbox.cursor(),
    async store(messages, cursor, within) {
      storing++; // a connection that waits for space on our disk does not count as silent
      try {
        await inbox.store(messages, cursor, within);
      } finally {
        storing--;
        heardAt = clock.now();
      }
    },
    alive() {
      heardAt = clock.now();
      if (Math.abs(heardAt - reportedAt) < HEARD_EVERY_MS) return;
      reportedAt = heardAt;
      onHeard(name);
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
  setMaxListeners(0, stopping); // each part that is being sent adds a listener
  try {
    onState({ name, state: "connected", code: undefined, reason: undefined, attempts: 0 });
    onHeard(name);
    const delivery = parts.deliver(connection, stopping);
    const failure = await Promise.race([
      connection.ended,
      watchSilence(
        platform.capabilities.silenceLimitMs,
        () => (storing > 0 ? clock.now() : heardAt),
        clock,
        stopping,
      ),
      // A failed delivery means a bug or a broken database; the connection is opened again after a wait.
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

/** Resolves with a failure when nothing was heard for too long, and with undefined when the signal aborts. */
async function watchSilence(
  limitMs: number,
  heardAt: () => number,
  clock: Clock,
  signal: AbortSignal,
): Promise<PlatformFailure | undefined> {
  const silence = (): PlatformFailure =>
    new PlatformFailure("silent", `nothing was heard for ${Math.round(limitMs / 1_000)} s`);
  for (;;) {
    const before = heardAt();
    const leftMs = before + limitMs - clock.now();
    if (leftMs <= 0) return silence();
    const isSetBack = leftMs > limitMs; // the clock was set back, so the times do not show how long it has been silent
    try {
      await clock.sleep(Math.min(leftMs, limitMs), signal);
    } catch {
      return undefined;
    }
    if (isSetBack && heardAt() === before) return silence();
  }
}
