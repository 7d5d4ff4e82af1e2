import { AppError } from "../../lib/errors.ts";
import { waitAtMost } from "../../lib/time/wait-at-most.ts";
import type { Channel } from "./channel.ts";

/** sshd allows ten sessions per connection; eight leave two for the user. */
const MAX_CHANNELS = 8;
const KEEP_IDLE = 2;
const IDLE_MS = 60_000;
const MAX_LEAKED = 16;
const SETTLE_MS = 1_000;
/** A command with streamed input uses up its channel and needs a second channel that guards it. */
const KEEP_SPARE = 2;
/** Delay the refill so that a process about to exit does not start a shell. */
const REFILL_AFTER_MS = 50;
/** A channel settles within a few milliseconds after its command; opening another one takes much longer. */
const SETTLE_WAIT_MS = 100;

export type ChannelPool = ReturnType<typeof createChannelPool>;

/** `isSpare`: the channel is opened in advance, without a waiting caller. */
type OpenChannel = (signal: AbortSignal, isSpare: boolean) => Promise<Channel>;

export function createChannelPool(open: OpenChannel) {
  const idle: { channel: Channel; since: number }[] = [];
  /** Channels kept open because a leftover process of an earlier command can still print to them. */
  const leaked: Channel[] = [];
  const closing = new Set<Promise<void>>();
  const settling = new Set<Promise<void>>();
  const waiting: (() => void)[] = [];
  let count = 0;
  let busy = 0;
  let closed = false;
  const timer = setInterval(closeIdle, IDLE_MS / 4);
  timer.unref();
  const end = new AbortController();
  let refilling: NodeJS.Timeout | undefined;

  function keepIn(set: Set<Promise<void>>, work: Promise<void>): void {
    set.add(work);
    void work.finally(() => set.delete(work));
  }
  function close(channel: Channel): void {
    keepIn(closing, channel[Symbol.asyncDispose]());
  }
  function drop(channel: Channel, isOutputLeaked: boolean): void {
    count--;
    if (isOutputLeaked) leaked.push(channel);
    else close(channel);
    const oldest = leaked.length > MAX_LEAKED ? leaked.shift() : undefined;
    if (oldest) close(oldest);
    waiting.shift()?.();
  }
  /** Opens a spare channel in advance. A failure is ignored: the next `acquire` reports it. */
  function refillSoon(): void {
    clearTimeout(refilling);
    refilling = setTimeout(() => {
      if (closed || idle.length >= KEEP_SPARE || count >= MAX_CHANNELS) return;
      count++;
      const opening = open(end.signal, true).then(
        (channel) => void idle.unshift({ channel, since: Date.now() }),
        () => void count--,
      );
      keepIn(
        closing,
        opening.then(() => waiting.shift()?.()),
      );
    }, REFILL_AFTER_MS);
    refilling.unref();
  }
  function closeIdle(): void {
    const now = Date.now();
    while (idle.length > KEEP_IDLE && now - (idle[0]?.since ?? now) > IDLE_MS) {
      const oldest = idle.shift();
      if (oldest) drop(oldest.channel, false);
    }
  }

  return {
    get busy(): number {
      return busy;
    },
    /** Returns an idle channel, a new one, or the next free one. The caller gives it back with `release`. */
    async acquire(signal: AbortSignal): Promise<Channel> {
      let mayWait = true;
      for (;;) {
        signal.throwIfAborted();
        if (closed) throw new AppError("environment-closed", "The environment is closed.");
        const found = idle.pop();
        if (found?.channel.isUsable) {
          busy++;
          return found.channel;
        }
        if (found) {
          drop(found.channel, false);
          continue;
        }
        if (mayWait && settling.size > 0) {
          mayWait = false;
          await waitAtMost(SETTLE_WAIT_MS, Promise.race(settling));
          continue;
        }
        if (count < MAX_CHANNELS) {
          count++;
          busy++;
          try {
            return await open(signal, false);
          } catch (error) {
            count--;
            busy--;
            waiting.shift()?.();
            throw error;
          }
        }
        await nextFree(waiting, signal);
      }
    },
    /** Returns a channel to the pool; it is reused after it has settled, if it is still usable. */
    release(channel: Channel): void {
      busy--;
      // A channel whose command was killed may never settle, so the wait is limited.
      const settle = waitAtMost(SETTLE_MS, channel.settled()).then(() => {
        if (closed || !channel.isUsable) {
          drop(channel, !closed && channel.isOutputLeaked);
          if (!closed && channel.isSpent) refillSoon();
          return;
        }
        idle.push({ channel, since: Date.now() });
        channel.prepare();
        waiting.shift()?.();
      });
      for (const set of [closing, settling]) keepIn(set, settle);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      closed = true;
      clearInterval(timer);
      clearTimeout(refilling);
      end.abort();
      for (const channel of leaked.splice(0)) close(channel);
      for (const wake of waiting.splice(0)) wake();
      do {
        for (const { channel } of idle.splice(0)) close(channel);
        await Promise.allSettled([...closing]);
      } while (closing.size > 0 || idle.length > 0);
    },
  };
}

function nextFree(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      signal.removeEventListener("abort", wake);
      const index = waiting.indexOf(wake);
      if (index !== -1) waiting.splice(index, 1);
      resolve();
    };
    waiting.push(wake);
    signal.addEventListener("abort", wake);
  });
}
