import { messageOf } from "../../../lib/errors.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { type Engine, formatFailure, succeeded } from "../engine/engine.ts";
import { findContainer } from "./container.ts";
import { startContainer } from "./start-container.ts";

const STOP_GRACE_SECONDS = 10;
const STOP_TIMEOUT_MS = 30_000;
const REMOVE_TIMEOUT_MS = 30_000;
const REMOVING_MS = 5_000;
const POLL_MS = 100;

export type Removal =
  | { readonly outcome: "removed" | "stopped" | "already-gone" }
  | { readonly outcome: "failed"; readonly reason: string };

/** Stops a container, removes it with its anonymous volumes, and verifies the outcome. */
export async function removeSandbox(engine: Engine, id: string, signal: AbortSignal): Promise<Removal> {
  try {
    const stopped = await stopSandbox(engine, id, signal);
    if (stopped.outcome === "already-gone") return { outcome: "already-gone" };
    // A container that could not be stopped is removed by force.
    const removed = await engine.run(["rm", "--force", "--volumes", id], REMOVE_TIMEOUT_MS, signal);
    if (succeeded(removed) || (await isRemovedElsewhere(engine, id, signal))) return { outcome: "removed" };
    return { outcome: "failed", reason: formatFailure(removed) };
  } catch (error) {
    signal.throwIfAborted();
    return { outcome: "failed", reason: messageOf(error) };
  }
}

/** Stops a container; a container that is not running counts as stopped. */
export async function stopSandbox(engine: Engine, id: string, signal: AbortSignal): Promise<Removal> {
  const stop = () => engine.run(["stop", "-t", String(STOP_GRACE_SECONDS), id], STOP_TIMEOUT_MS, signal);
  let result = await stop();
  if (succeeded(result)) return { outcome: "stopped" };
  const found = await findContainer(engine, id, signal);
  if (found === undefined) return { outcome: "already-gone" };
  // Podman, unlike Docker, refuses to stop a paused container.
  if (found.state === "paused" && !("complaint" in (await startContainer(engine, found, signal)))) {
    result = await stop();
    if (succeeded(result)) return { outcome: "stopped" };
  }
  return { outcome: "failed", reason: formatFailure(result) };
}

/** Waits for a removal by another process: while that is in progress, the engine refuses a second removal. */
async function isRemovedElsewhere(engine: Engine, id: string, signal: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + REMOVING_MS;
  for (;;) {
    const isLast = performance.now() >= deadline; // before the poll, so that the last poll is after the deadline
    const found = await findContainer(engine, id, signal);
    if (found === undefined) return true;
    if (found.state !== "removing" || isLast) return false;
    await systemClock.sleep(POLL_MS, signal);
  }
}
