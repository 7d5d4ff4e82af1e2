import { loadConfig } from "../../../config/load.ts";
import { listContainers } from "../../../environments/docker/container.ts";
import type { Engine } from "../../../environments/docker/engine.ts";
import { findEngine } from "../../../environments/docker/find-engine.ts";
import { isOurs, LABEL } from "../../../environments/docker/labels.ts";
import { sandboxesFolderOf } from "../../../environments/docker/prepare-docker.ts";
import { removeSandbox } from "../../../environments/docker/remove-sandbox.ts";
import { describeJobs } from "../../../environments/docker/require-unused.ts";
import { findLastingUse } from "../../../environments/docker/sandbox-processes.ts";
import { forgetSandbox, loadRecords } from "../../../environments/docker/sandbox-record.ts";
import { listOwnImages, removeOwnImage } from "../../../environments/docker/snapshots/own-images.ts";
import { dropStableFolder } from "../../../environments/docker/stable-folder.ts";
import { lookUpJobsOf } from "../../../environments/jobs/seen-job.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Profile } from "../../../profiles/profile.ts";
import { findProfileId } from "../../../profiles/profile-id.ts";
import type { CommandContext } from "../../context.ts";

export interface RemovedSandboxes {
  /** The names of the containers that are gone. */
  readonly removed: readonly string[];
  /** What could not be removed, each as a sentence. */
  readonly problems: readonly string[];
}

/**
 * Removes the containers of a profile that is about to go, and for good also the images of its snapshots. Throws while
 * somebody uses one of them, before anything is removed; an engine that cannot be reached keeps nobody from deleting.
 */
export async function removeSandboxes(
  { variables, flags, signal }: CommandContext,
  profile: Profile,
  { forGood }: { readonly forGood: boolean },
): Promise<RemovedSandboxes> {
  const profileId = await findProfileId(profile);
  if (profileId === undefined) return { removed: [], problems: [] };
  const { configPath, envPath } = profile;
  const { config } = await loadConfig({ configPath, envPath, variables, flags: flags.settings });
  const { terminal } = config;
  const place = { sandboxesFolder: sandboxesFolderOf(terminal, profile.home), profileId };
  const kinds = new Set((await loadRecords(place)).map(({ engine }) => engine.split(" ")[0]));
  const removed: string[] = [];
  const problems: string[] = [];
  for (const backend of ["docker", "podman"] as const) {
    if (terminal.backend !== backend && !kinds.has(backend)) continue;
    try {
      const binary = terminal.backend === backend ? terminal.docker_binary : "";
      const engine = await findEngine({ backend, binary, variables });
      const containers = await listFree(engine, profile, profileId, signal);
      for (const { id, name } of containers) {
        const removal = await removeSandbox(engine, id, signal);
        if (removal.outcome === "failed") {
          problems.push(`The sandbox ${name} could not be removed: ${removal.reason}`);
          continue;
        }
        removed.push(name);
        await forgetSandbox(place, id);
      }
      if (!forGood) continue;
      for (const { tag } of await listOwnImages(engine, profileId, signal)) {
        const removal = await removeOwnImage(engine, tag, signal);
        if (removal.outcome === "failed")
          problems.push(`The image ${tag} could not be removed: ${removal.reason}`);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AppError) || error.code === "sandbox-held") throw error;
      const find = `${backend} ps -a --filter label=${LABEL.profileId}=${profileId}`;
      problems.push(`Its sandboxes could not be looked for: ${error.message} See \`${find}\` later.`);
    }
  }
  await dropStableFolder(profile, profileId);
  return { removed, problems };
}

/** The profile's containers, which nobody may be using. */
async function listFree(
  engine: Engine,
  { name: profile, home }: Profile,
  profileId: string,
  signal: AbortSignal,
) {
  const all = await listContainers(engine, [`label=${LABEL.profileId}=${profileId}`], {}, signal);
  const containers = all.filter(({ labels }) => isOurs(labels));
  for (const { id, name, state } of containers) {
    if (state !== "running") continue;
    const { isHeld, jobs } = await findLastingUse(engine, id, signal);
    if (!isHeld && jobs.length === 0) continue;
    const why = isHeld
      ? `The sandbox ${name} of ${profile} is in use by another process.`
      : describeJobs(name, await lookUpJobsOf(home)(jobs, signal));
    throw new AppError("sandbox-held", why, {
      hint: `Wait until it is done, or remove it with \`hermes -p ${profile} sandbox rm --force\`; then run the same command again.`,
    });
  }
  return containers;
}
