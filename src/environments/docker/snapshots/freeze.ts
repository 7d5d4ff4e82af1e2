import { spawn } from "node:child_process";
import { once } from "node:events";
import { systemClock } from "../../../lib/clock.ts";
import { complaintOf, type Engine, succeeded } from "../engine.ts";
import { startContainer } from "../start-container.ts";

const PAUSE_TIMEOUT_MS = 10_000;
const WAKE_MS = 15_000;
const STARTS_WITHIN_MS = 3_000;
const LOOK_PAUSE_MS = 5;

/**
 * Waits for the end of its input, which comes with our own end however that happens, and wakes the container. Several
 * tries, because a pause that we asked for in our last moment may still be on its way.
 */
const WAKE = `read -r word; [ "$word" = leave ] && exit 0
for try in 1 2 3 4 5 6 7 8 9 10; do "$0" unpause "$1" && exit 0; sleep 0.3; done; exit 1`;

/**
 * Docker never lets go of a container that is paused at the moment in which it starts a command there: the command stands
 * still before it has begun, and whatever wants to wake or describe the container waits for it. A command that comes in the
 * few milliseconds between this look and the pause still meets that fate.
 */
async function outwaitStarts(engine: Engine, id: string, signal: AbortSignal): Promise<void> {
  const until = performance.now() + STARTS_WITHIN_MS;
  while (performance.now() < until && (await engine.socket?.isStarting(id, signal)))
    await systemClock.sleep(LOOK_PAUSE_MS, signal);
}

/** A container whose processes all stand still until this is disposed. */
export interface Freeze extends AsyncDisposable {
  /** Why they do not; some engines cannot do it. */
  readonly complaint: string | undefined;
}

/** Holds the container still, and lets it go on even if we are killed meanwhile. */
export async function openFreeze(engine: Engine, id: string, signal: AbortSignal): Promise<Freeze> {
  const waker = spawn("/bin/sh", ["-c", WAKE, engine.binary, id], {
    env: engine.env,
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const exited = once(waker, "exit").catch(() => [1]);
  waker.stdin.on("error", () => undefined); // told by its exit
  const wake = async (word: "leave" | "wake") => {
    waker.stdin.end(`${word}\n`);
    const [code] = await exited;
    if (code !== 0) await startContainer(engine, { id, state: "paused" }, AbortSignal.timeout(WAKE_MS));
  };
  try {
    await outwaitStarts(engine, id, signal);
    if (await engine.socket?.pause(id, AbortSignal.any([signal, AbortSignal.timeout(PAUSE_TIMEOUT_MS)])))
      return { complaint: undefined, [Symbol.asyncDispose]: () => wake("wake") };
    const paused = await engine.run(["pause", id], { timeoutMs: PAUSE_TIMEOUT_MS }, signal);
    const frozen = succeeded(paused);
    return {
      complaint: frozen ? undefined : complaintOf(paused),
      // One whose pause was not answered in time may still fall asleep.
      [Symbol.asyncDispose]: () => wake(frozen || paused.timedOut ? "wake" : "leave"),
    };
  } catch (error) {
    await wake("wake");
    throw error;
  }
}
