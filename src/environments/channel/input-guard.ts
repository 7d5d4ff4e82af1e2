import type { Channel } from "./channel.ts";
import type { ChannelPool } from "./channel-pool.ts";
import type { StartedProcess } from "./process-table.ts";

/**
 * Guards a command with streamed input. The command's own channel carries only that input, so a second channel checks
 * whether the command is alive, lets it see end-of-file, and kills it if our process exits.
 */
export async function openInputGuard(pool: ChannelPool, mark: string, signal: AbortSignal) {
  let channel = await pool.acquire(signal);
  let root: StartedProcess | undefined;
  let holder: StartedProcess | undefined;
  let isClosed = false;
  channel.guard(mark, root);

  async function openCurrentChannel(callSignal: AbortSignal): Promise<Channel> {
    if (channel.isUsable) return channel;
    const next = await pool.acquire(callSignal);
    pool.release(isClosed ? next : channel);
    if (isClosed) return channel;
    channel = next;
    channel.guard(mark, root);
    return channel;
  }

  return {
    /** The guarding channel; replaced if it dies. */
    get channel(): Channel {
      return channel;
    },
    onStart(process: StartedProcess): void {
      root = process;
      channel.guard(mark, root);
    },
    onHeld(process: StartedProcess): void {
      holder = process;
    },
    /** Lets the command see end-of-file. */
    async complete(callSignal: AbortSignal): Promise<void> {
      while (holder && !callSignal.aborted) {
        const isSignalled = await (await openCurrentChannel(callSignal)).completeInput(holder, callSignal);
        if (isSignalled !== undefined) return;
      }
    },
    /** Whether the command's channel is alive in the environment; undefined if the driver did not answer. */
    async isAlive(callSignal: AbortSignal): Promise<boolean | undefined> {
      return holder && (await openCurrentChannel(callSignal)).isAlive(holder, callSignal);
    },
    /** Stops guarding: the command has ended, so its pid may be reused. */
    release: () => channel.guard("", undefined),
    [Symbol.dispose](): void {
      isClosed = true;
      pool.release(channel);
    },
  };
}
