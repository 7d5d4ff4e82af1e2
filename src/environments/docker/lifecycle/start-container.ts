import { type Engine, formatFailure, succeeded } from "../engine/engine.ts";
import { type Container, findContainer } from "./container.ts";

const START_TIMEOUT_MS = 30_000;

export type Start =
  | { readonly container: Container }
  /** `container` is undefined when it no longer exists. */
  | { readonly container: Container | undefined; readonly complaint: string };

/** Starts or unpauses a container and verifies that it runs. Safe to call from several processes at once. */
export async function startContainer(
  engine: Engine,
  { id, state }: { readonly id: string; readonly state: string },
  signal: AbortSignal,
): Promise<Start> {
  const verb = state === "paused" ? "unpause" : "start";
  const result = await engine.run([verb, id], START_TIMEOUT_MS, signal);
  // The client's exit code is not enough: another process may have started the container, or it may have exited again.
  const container = await findContainer(engine, id, signal);
  if (container?.state === "running") return { container };
  const complaint = succeeded(result)
    ? `it exited immediately ${container?.error ?? ""}`.trim()
    : formatFailure(result);
  return { container, complaint };
}
