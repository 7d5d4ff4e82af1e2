import type { Engine } from "../docker/engine/engine.ts";
import type { Reporter } from "../environment-request.ts";
import type { TerminalOptions } from "../options.ts";
import { withInstanceLock } from "./ensure-instance.ts";
import { type InstanceUse, inspectInstance, listInstances, stopInstance } from "./instance.ts";
import { type InstanceSpec, instancePrefix } from "./instance-spec.ts";

export interface Reclaim {
  readonly engine: Engine;
  /** The spec of any instance of the profile: all share the scratch folder and the user. */
  readonly spec: Pick<InstanceSpec, "scratchFolder" | "asRoot">;
  readonly options: TerminalOptions;
  readonly profileId: string;
  readonly reporter: Reporter;
  readonly now: number;
}

/** Stops the profile's instances that have been unused longer than the settings allow; persistent files stay. */
export async function reclaimInstances(reclaim: Reclaim, signal: AbortSignal): Promise<void> {
  const { engine, spec, options, profileId, reporter, now } = reclaim;
  if (!options.docker_orphan_reaper) return;
  for (const { name } of await listInstances(engine, `${instancePrefix(profileId)}*`, signal)) {
    const target = { name, scratchFolder: spec.scratchFolder, asRoot: spec.asRoot };
    const stop = async (): Promise<void> => {
      const use = await inspectInstance(engine, target, signal);
      if (use === undefined || !isAbandoned(use, options, now)) return;
      const complaint = await stopInstance(engine, name, signal);
      reporter.onNotice(
        complaint === undefined
          ? `The instance ${name} was stopped because it was unused.`
          : `The unused instance ${name} could not be stopped: ${complaint}`,
      );
    };
    await withInstanceLock(target, stop, signal);
  }
}

/** Uses the rules of our Docker sandboxes. An instance that never had a channel is still being started. */
function isAbandoned(use: InstanceUse, options: TerminalOptions, now: number): boolean {
  if (use.isHeld || use.hasJobs || use.lastUse === undefined) return false;
  const unusedMs = now - use.lastUse;
  const isOlderThan = (seconds: number): boolean => seconds > 0 && unusedMs >= seconds * 1_000;
  if (isOlderThan(options.docker_max_age_seconds)) return true;
  return !use.hasProcesses && isOlderThan(options.docker_idle_ttl_seconds);
}
