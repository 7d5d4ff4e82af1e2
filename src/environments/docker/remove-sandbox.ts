import { systemClock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import { findContainer } from "./container.ts";
import { complaintOf, type Engine, succeeded } from "./engine.ts";

const STOP_GRACE_SECONDS = 10;
const STOP_TIMEOUT_MS = 30_000;
const REMOVE_TIMEOUT_MS = 30_000;
const GOING_MS = 5_000;
const PAUSE_MS = 100;

export type Removal =
  | { readonly outcome: "removed" | "already-gone" }
  | { readonly outcome: "failed"; readonly reason: string };

/** Stops a container and removes it with its anonymous volumes, and says what is really the case afterwards. */
export async function removeSandbox(engine: Engine, id: string, signal: AbortSignal): Promise<Removal> {
  try {
    const stopped = await stopSandbox(engine, id, signal);
    if (stopped.outcome === "already-gone") return { outcome: "already-gone" };
    // One that could not be stopped is removed by force all the same.
    const removed = await engine.run(
      ["rm", "--force", "--volumes", id],
      { timeoutMs: REMOVE_TIMEOUT_MS },
      signal,
    );
    if (succeeded(removed) || (await isGoing(engine, id, signal))) return { outcome: "removed" };
    return { outcome: "failed", reason: complaintOf(removed) };
  } catch (error) {
    signal.throwIfAborted();
    return { outcome: "failed", reason: messageOf(error) };
  }
}

export type Stop =
  | { readonly outcome: "stopped" | "already-gone" }
  | { readonly outcome: "failed"; readonly reason: string };

/** Stops a container; one that does not run counts as stopped. */
export async function stopSandbox(engine: Engine, id: string, signal: AbortSignal): Promise<Stop> {
  const result = await engine.run(
    ["stop", "-t", String(STOP_GRACE_SECONDS), id],
    { timeoutMs: STOP_TIMEOUT_MS },
    signal,
  );
  if (succeeded(result)) return { outcome: "stopped" };
  if ((await findContainer(engine, id, signal)) === undefined) return { outcome: "already-gone" };
  return { outcome: "failed", reason: complaintOf(result) };
}

/** Somebody else may be removing it at this moment, and the engine then refuses to do it twice. */
async function isGoing(engine: Engine, id: string, signal: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + GOING_MS;
  for (;;) {
    const isLast = performance.now() >= deadline; // asked before, so that the last look is one after the deadline
    const found = await findContainer(engine, id, signal);
    if (found === undefined) return true;
    if (found.state !== "removing" || isLast) return false;
    await systemClock.sleep(PAUSE_MS, signal);
  }
}
