import { spawn } from "node:child_process";
import { once } from "node:events";
import { systemClock } from "../../../lib/time/clock.ts";
import { type Engine, formatFailure, succeeded } from "../engine/engine.ts";
import { startContainer } from "../lifecycle/start-container.ts";

const PAUSE_TIMEOUT_MS = 10_000;
const UNPAUSE_MS = 15_000;
const STARTS_WITHIN_MS = 3_000;
const POLL_MS = 5;

/**
 * A shell script that unpauses the container when its input ends, which happens even if our process is killed. It
 * retries, because a pause that we requested just before the kill may still be in progress.
 */
const UNPAUSE_SCRIPT = `read -r word; [ "$word" = leave ] && exit 0
for try in 1 2 3 4 5 6 7 8 9 10; do "$0" unpause "$1" && exit 0; sleep 0.3; done; exit 1`;

/**
 * Waits until Docker is not starting a command in the container. A pause during such a start deadlocks Docker: the
 * command is frozen before it has started, and every unpause or inspect waits for it. A command that starts in the few
 * milliseconds between the last poll and the pause still triggers the deadlock.
 */
async function waitForStarts(engine: Engine, id: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + STARTS_WITHIN_MS;
  while (performance.now() < deadline && (await engine.socket?.isStarting(id, signal)))
    await systemClock.sleep(POLL_MS, signal);
}

/**
 * Pauses all processes of the container until the result is disposed; they are unpaused even if our process is killed.
 * `complaint` is the reason why the engine could not pause it: not every engine supports that.
 */
export async function openFreeze(engine: Engine, id: string, signal: AbortSignal) {
  const unpauser = spawn("/bin/sh", ["-c", UNPAUSE_SCRIPT, engine.binary, id], {
    env: engine.env,
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const exited = once(unpauser, "exit").catch(() => [1]);
  unpauser.stdin.on("error", () => undefined); // the exit code reports the failure
  const finish = async (word: "leave" | "wake") => {
    unpauser.stdin.end(`${word}\n`);
    const [code] = await exited;
    if (code !== 0) await startContainer(engine, { id, state: "paused" }, AbortSignal.timeout(UNPAUSE_MS));
  };
  try {
    await waitForStarts(engine, id, signal);
    if (await engine.socket?.pause(id, AbortSignal.any([signal, AbortSignal.timeout(PAUSE_TIMEOUT_MS)])))
      return { complaint: undefined, [Symbol.asyncDispose]: () => finish("wake") };
    const paused = await engine.run(["pause", id], PAUSE_TIMEOUT_MS, signal);
    const frozen = succeeded(paused);
    return {
      complaint: frozen ? undefined : formatFailure(paused),
      // After a timeout the engine may still pause the container.
      [Symbol.asyncDispose]: () => finish(frozen || paused.timedOut ? "wake" : "leave"),
    };
  } catch (error) {
    await finish("wake");
    throw error;
  }
}
