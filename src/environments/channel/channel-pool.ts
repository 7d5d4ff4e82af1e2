import { AppError } from "../../lib/errors.ts";
import { waitAtMost } from "../../lib/wait-at-most.ts";
import type { Channel } from "./channel.ts";

/** The warm channels of one place. sshd allows ten sessions at a time, so eight leave room for a person. */
const MAX_CHANNELS = 8;
const KEEP_IDLE = 2;
const IDLE_MS = 60_000;
const MAX_HELD = 16;
const SETTLE_MS = 1_000;
/** A command with a stream as its input uses up its channel, and needs a second one to be watched over. */
const KEEP_SPARE = 2;
/** Whoever ends right after such a command is not made to start a shell for nothing. */
const REFILL_AFTER_MS = 50;
/** A channel is free a millisecond or two after its command has ended; to open another one takes much longer. */
const FREE_WITHIN_MS = 100;

export interface ChannelPool extends AsyncDisposable {
  /** An idle channel, a new one, or the next that becomes free. Give it back with `release`. */
  acquire(signal: AbortSignal): Promise<Channel>;
  /** Takes a channel back; it is used again when it has settled and is sound. */
  release(channel: Channel): void;
  /** How many commands are on their way. */
  readonly busy: number;
}

/** `isSpare` says that nobody has asked for the channel yet. */
type Open = (signal: AbortSignal, isSpare: boolean) => Promise<Channel>;

export function createChannelPool(open: Open): ChannelPool {
  const idle: { channel: Channel; since: number }[] = [];
  /** Kept open because something that an earlier command left behind still prints to them. */
  const held: Channel[] = [];
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
  /** Opens the next one before it is asked for; one that cannot be opened is told to whoever asks. */
  function refillSoon(): void {
    clearTimeout(refilling);
    refilling = setTimeout(() => {
      if (closed || idle.length >= KEEP_SPARE || count >= MAX_CHANNELS) return;
      count++;
      const opening = open(end.signal, true).then(
        (channel) => {
          idle.unshift({ channel, since: Date.now() });
          waiting.shift()?.();
        },
        () => {
          count--;
          waiting.shift()?.();
        },
      );
      closing.add(opening);
      void opening.finally(() => closing.delete(opening));
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
    get busy() {
      return busy;
    },
    async acquire(signal) {
      let isPatient = true;
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
        if (isPatient && settling.size > 0) {
          isPatient = false;
          await waitAtMost(FREE_WITHIN_MS, Promise.race(settling));
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
    release(channel) {
      busy--;
      const settle = Promise.race([channel.settled(), tooLate()]).then(() => {
        if (closed || !channel.usable) {
          drop(channel, !closed && channel.isHeld);
          if (!closed && channel.isSpent) refillSoon();
          return;
        }
        idle.push({ channel, since: Date.now() });
        waiting.shift()?.();
      });
      for (const set of [closing, settling]) {
        set.add(settle);
        void settle.finally(() => set.delete(settle));
      }
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      clearInterval(timer);
      clearTimeout(refilling);
      end.abort();
      for (const channel of held.splice(0)) close(channel);
      for (const wake of waiting.splice(0)) wake();
      do {
        for (const { channel } of idle.splice(0)) close(channel);
        await Promise.allSettled([...closing]);
      } while (closing.size > 0 || idle.length > 0);
    },
  };
}

/** A channel whose command was ended by force may never tell that it is free; it is then given up. */
function tooLate(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS).unref());
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
