import { AppError } from "../../lib/errors.ts";
import type { Channel } from "./channel.ts";

/** The warm channels of one place. sshd allows ten sessions at a time, so eight leave room for a person. */
const MAX_CHANNELS = 8;
const KEEP_IDLE = 2;
const IDLE_MS = 60_000;
const MAX_HELD = 16;
const SETTLE_MS = 1_000;

export interface ChannelPool extends AsyncDisposable {
  /** An idle channel, a new one, or the next that becomes free. Give it back with `release`. */
  acquire(signal: AbortSignal): Promise<Channel>;
  /** Takes a channel back; it is used again when it has settled and is sound. */
  release(channel: Channel): void;
  /** How many commands are on their way. */
  readonly busy: number;
}

export function createChannelPool(open: (signal: AbortSignal) => Promise<Channel>): ChannelPool {
  const idle: { channel: Channel; since: number }[] = [];
  /** Kept open because something that an earlier command left behind still prints to them. */
  const held: Channel[] = [];
  const closing = new Set<Promise<void>>();
  const waiting: (() => void)[] = [];
  let count = 0;
  let busy = 0;
  let closed = false;
  const timer = setInterval(closeIdle, IDLE_MS / 4);
  timer.unref();

  function close(channel: Channel): void {
    const done = Promise.resolve(channel[Symbol.asyncDispose]());
    closing.add(done);
    void done.finally(() => closing.delete(done));
  }
  function drop(channel: Channel, isHeld: boolean): void {
    count--;
    if (isHeld) held.push(channel);
    else close(channel);
    const oldest = held.length > MAX_HELD ? held.shift() : undefined;
    if (oldest) close(oldest);
    waiting.shift()?.();
  }
  function closeIdle(): void {
    const now = Date.now();
    while (idle.length > KEEP_IDLE && now - (idle[0]?.since ?? now) > IDLE_MS) {
      const oldest = idle.shift();
      if (oldest) drop(oldest.channel, false);
    }
  }

  return {
    get busy() {
      return busy;
    },
    async acquire(signal) {
      for (;;) {
        signal.throwIfAborted();
        if (closed) throw new AppError("environment-closed", "The environment has been closed.");
        const found = idle.pop();
        if (found?.channel.usable) {
          busy++;
          return found.channel;
        }
        if (found) {
          drop(found.channel, false);
          continue;
        }
        if (count < MAX_CHANNELS) {
          count++;
          busy++;
          try {
            return await open(signal);
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
    release(channel) {
      busy--;
      const settle = Promise.race([channel.settled(), tooLate()]).then(() => {
        if (closed || !channel.usable) return drop(channel, !closed && channel.isHeld);
        idle.push({ channel, since: Date.now() });
        waiting.shift()?.();
      });
      closing.add(settle);
      void settle.finally(() => closing.delete(settle));
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      clearInterval(timer);
      for (const { channel } of idle.splice(0)) close(channel);
      for (const channel of held.splice(0)) close(channel);
      for (const wake of waiting.splice(0)) wake();
      while (closing.size > 0) await Promise.allSettled([...closing]);
    },
  };
}

/** A channel whose command was ended by force may never tell that it is free; it is then given up. */
function tooLate(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS).unref());
}

async function nextFree(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  let wake: (() => void) | undefined;
  const free = new Promise<void>((resolve) => {
    wake = resolve;
    waiting.push(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await free;
  const index = wake ? waiting.indexOf(wake) : -1;
  if (index !== -1) waiting.splice(index, 1);
}
