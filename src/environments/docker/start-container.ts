import { type Container, findContainer } from "./container.ts";
import { complaintOf, type Engine, succeeded } from "./engine.ts";

const START_TIMEOUT_MS = 30_000;

export type Start =
  | { readonly container: Container }
  /** Undefined when the container has gone. */
  | { readonly container: Container | undefined; readonly complaint: string };

/** Starts a container, or wakes a paused one, and looks whether it runs; doing it twice at once does no harm. */
export async function startContainer(
  engine: Engine,
  { id, state }: { readonly id: string; readonly state: string },
  signal: AbortSignal,
): Promise<Start> {
  const verb = state === "paused" ? "unpause" : "start";
  const result = await engine.run([verb, id], { timeoutMs: START_TIMEOUT_MS }, signal);
  // Whatever the client said: somebody else may have started it, or it may have ended again at once.
  const container = await findContainer(engine, id, signal);
  if (container?.state === "running") return { container };
  const complaint = succeeded(result)
    ? `it ended again at once ${container?.error ?? ""}`.trim()
    : complaintOf(result);
  return { container, complaint };
}
