import type { RunOrder } from "../../board/worker/run-order.ts";
import { pickPublicVariables } from "../../board/worker/worker-variables.ts";
import { AppError } from "../../lib/errors.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import { type App, type AppChoice, openApp } from "../app.ts";
import { createEnvironmentFacts } from "./environments.ts";

/** How long to wait for the container engine. */
const WITHIN_MS = 10_000;

/** A worker that may have left a sandbox behind. */
interface SandboxOwner extends Pick<AppChoice, "variables" | "userHome"> {
  readonly profile: string;
  readonly taskId: string;
  readonly cwd: string;
}

/** Reclaims the sandboxes that the worker of a run left behind. Returns the notices. */
export function reclaimSandboxesOfRun(
  { run: { profile, taskId }, worker: { env: variables, cwd } }: RunOrder,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return reclaimSandboxes({ profile, taskId, cwd, variables, userHome: variables["HOME"] ?? cwd }, signal);
}

/** Like `reclaimSandboxesOfRun`, for a worker of another process. Returns a failure as a notice: `sandbox gc` retries. */
export async function tryReclaimSandboxesOfTask(
  { profile: { name, root }, variables, userHome }: App,
  { profile, taskId }: { readonly profile: string | null; readonly taskId: string },
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (profile === null) return [];
  const own = { ...(profile === name ? variables : pickPublicVariables(variables)), HERMES_HOME: root };
  using deadline = openDeadline(signal, WITHIN_MS);
  try {
    const owner = { profile, taskId, cwd: userHome, variables: own, userHome };
    return await reclaimSandboxes(owner, deadline.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError && error.code === "profile-not-found") return [];
    if (error instanceof AppError)
      return [`Leftover sandboxes of ${profile} were not removed: ${error.message}`];
    if (deadline.signal.aborted) return [`Leftover sandboxes of ${profile} were not removed in time.`];
    throw error;
  }
}

/** Ends the sandboxes that killed workers of a profile left behind, and no others. */
async function reclaimSandboxes(
  { taskId, cwd, ...choice }: SandboxOwner,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const app = await openApp(choice);
  const { reclaimAbandonedSandboxes } = await import("../../environments/open-environment.ts");
  const notices: string[] = [];
  const reporter = { onNotice: (text: string) => void notices.push(text), onProgress: () => undefined };
  const facts = createEnvironmentFacts(app, { cwd, reporter });
  // The same value that the workers ran with: each worker has its own sandbox, which is removed with the worker.
  const options = { ...facts.options, docker_persist_across_processes: false };
  await reclaimAbandonedSandboxes({ ...facts, options, task: taskId }, signal);
  return notices;
}
