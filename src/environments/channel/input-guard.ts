import type { Channel } from "./channel.ts";
import type { ChannelPool } from "./channel-pool.ts";
import type { StartedProcess } from "./process-table.ts";

/**
 * Watches over a command with a streamed input. Its own channel carries nothing but that input, so a second channel
 * asks whether it is alive, lets it see the end of its input, and kills it when our process is gone.
 */
export interface InputGuard extends Disposable {
  /** The channel that watches; another one when the first has died. */
  readonly channel: Channel;
  onStart(root: StartedProcess): void;
  onHeld(holder: StartedProcess): void;
  /** Lets the command see the end of its input. */
  complete(signal: AbortSignal): Promise<void>;
  /** Whether the command's channel is alive at the far end; undefined when no answer came. */
  isAlive(signal: AbortSignal): Promise<boolean | undefined>;
  /** The command is over, so its pid may soon belong to somebody else. */
  release(): void;
}

export async function openInputGuard(
  pool: ChannelPool,
  mark: string,
  signal: AbortSignal,
): Promise<InputGuard> {
  let channel = await pool.acquire(signal);
  let root: StartedProcess | undefined;
  let holder: StartedProcess | undefined;
  let isClosed = false;
  channel.guard(mark, root);

  async function current(callSignal: AbortSignal): Promise<Channel> {
    if (channel.usable) return channel;
    const next = await pool.acquire(callSignal);
    pool.release(isClosed ? next : channel);
    if (isClosed) return channel;
    channel = next;
    channel.guard(mark, root);
    return channel;
  }

  return {
    get channel() {
      return channel;
    },
    onStart(process) {
      root = process;
      channel.guard(mark, root);
    },
    onHeld(process) {
      holder = process;
    },
    async complete(callSignal) {
      while (holder && !callSignal.aborted) {
        const isTold = await (await current(callSignal)).completeInput(holder, callSignal);
        if (isTold !== undefined) return;
      }
    },
    async isAlive(callSignal) {
      return holder && (await current(callSignal)).isAlive(holder, callSignal);
    },
    release: () => channel.guard("", undefined),
    [Symbol.dispose]() {
      isClosed = true;
      pool.release(channel);
    },
  };
}
