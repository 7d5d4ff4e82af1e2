import type { BoardStore } from "../../board/board-store.ts";
import type { BoardsLocation } from "../../board/registry/boards-location.ts";
import { type BoardVisitResults, type FailedVisit, visitBoards } from "../../board/registry/visit-boards.ts";
import { type ConfigSources, loadConfig } from "../../config/load-config.ts";
import type { Config } from "../../config/schema.ts";
import type { Engine } from "../../environments/docker/engine/engine.ts";
import { findEngine } from "../../environments/docker/engine/find-engine.ts";
import { sandboxesFolderOf } from "../../environments/docker/engine/prepare-docker.ts";
import { findPersistentUse } from "../../environments/docker/isolation/sandbox-processes.ts";
import { listContainers } from "../../environments/docker/lifecycle/container.ts";
import { removeSandbox } from "../../environments/docker/lifecycle/remove-sandbox.ts";
import { describeJobs } from "../../environments/docker/lifecycle/require-unused.ts";
import { describeHolders, formatHolders } from "../../environments/docker/lifecycle/sandbox-holders.ts";
import { deleteSandboxRecord, loadRecords } from "../../environments/docker/lifecycle/sandbox-record.ts";
import { listOwnImages, removeOwnImage } from "../../environments/docker/snapshots/own-images.ts";
import { isOurs, LABEL } from "../../environments/docker/spec/labels.ts";
import { removeStableLink } from "../../environments/docker/spec/stable-folder.ts";
import { createJobCommandFinder } from "../../environments/jobs/job-command.ts";
import { AppError } from "../../lib/errors.ts";
import type { Profile } from "../../profiles/profile.ts";
import { findProfileId } from "../../profiles/profile-id.ts";
import { listProfiles } from "../../profiles/profile-store.ts";
import { boardsLocation } from "../board.ts";

/** All boards that can have tasks of a profile of this root. */
export interface RootBoards {
  visit<Result>(work: (store: BoardStore) => Promise<Result>): Promise<BoardVisitResults<Result>>;
}

/** Finds the boards below the root and on every server that one of its profiles names. */
export async function findRootBoards(
  root: string,
  sources: ConfigSources,
  signal: AbortSignal,
): Promise<RootBoards> {
  const locations = new Map<string, BoardsLocation>();
  const unknown: FailedVisit[] = [];
  for (const profile of await listProfiles(root)) {
    const { name, envPath } = profile;
    const resolved = await loadConfig(profile, sources);
    const unread = resolved.problems.find(
      ({ kind, where }) => kind === "unreadable" && where.startsWith(envPath),
    );
    if (unread !== undefined) {
      const message = `${unread.where}: ${unread.message}; the location of the boards of ${name} is unknown`;
      unknown.push({ board: undefined, error: new AppError("database-unavailable", message) });
    }
    const location = boardsLocation({ profile, resolved });
    locations.set(
      JSON.stringify(location.databaseUrl === "" ? location.root : [location.databaseUrl]),
      location,
    );
  }
  return {
    async visit<Result>(work: (store: BoardStore) => Promise<Result>) {
      const all = { visited: [] as { board: string; result: Result }[], failed: [...unknown] };
      for (const location of locations.values()) {
        const { visited, failed } = await visitBoards(location, work, signal);
        all.visited.push(...visited);
        all.failed.push(...failed);
      }
      return all;
    },
  };
}

/** A setting that contains the name of a profile. */
export interface NamingSetting {
  readonly profile: string;
  readonly key: string;
}

/** Finds the settings of all profiles of a root that contain this name. The user must change them. */
export async function findSettingsNaming(root: string, name: string): Promise<readonly NamingSetting[]> {
  const found: NamingSetting[] = [];
  for (const profile of await listProfiles(root)) {
    const { config } = await loadConfig(profile);
    for (const [key, names] of Object.entries(namesIn(config.kanban)))
      if (names.some((text) => text.trim().toLowerCase() === name))
        found.push({ profile: profile.name, key: `kanban.${key}` });
  }
  return found;
}

function namesIn(kanban: Config["kanban"]): Readonly<Record<string, readonly string[]>> {
  const { default_assignee, dispatch_profiles, max_in_progress_per_profile } = kanban;
  return {
    default_assignee: [default_assignee],
    dispatch_profiles: dispatch_profiles ?? [],
    max_in_progress_per_profile:
      typeof max_in_progress_per_profile === "object" ? Object.keys(max_in_progress_per_profile ?? {}) : [],
  };
}

export interface RemovedSandboxes {
  /** The names of the removed containers. */
  readonly removed: readonly string[];
  /** One sentence for each container or image that could not be removed. */
  readonly problems: readonly string[];
}

/**
 * Removes the containers of a profile that is being deleted; with `permanently`, also the images of its snapshots. Throws
 * before removing anything if a container is in use. An unreachable engine does not prevent the deletion.
 */
export async function removeSandboxes(
  profile: Profile,
  { permanently }: { readonly permanently: boolean },
  sources: ConfigSources,
  signal: AbortSignal,
): Promise<RemovedSandboxes> {
  const profileId = await findProfileId(profile);
  if (profileId === undefined) return { removed: [], problems: [] };
  const { terminal } = (await loadConfig(profile, sources)).config;
  const store = { sandboxesFolder: sandboxesFolderOf(terminal, profile.home), profileId };
  const kinds = new Set((await loadRecords(store)).map(({ engine }) => engine.split(" ")[0]));
  const removed: string[] = [];
  const problems: string[] = [];
  for (const backend of ["docker", "podman"] as const) {
    if (terminal.backend !== backend && !kinds.has(backend)) continue;
    try {
      const binary = terminal.backend === backend ? terminal.docker_binary : "";
      const engine = await findEngine({ backend, binary, variables: sources.variables ?? {} });
      const containers = await listUnusedContainers(engine, profile, profileId, signal);
      for (const { id, name } of containers) {
        const removal = await removeSandbox(engine, id, signal);
        if (removal.outcome === "failed") {
          problems.push(`The sandbox ${name} could not be removed: ${removal.reason}`);
          continue;
        }
        removed.push(name);
        await deleteSandboxRecord(store, id);
      }
      if (!permanently) continue;
      for (const { tag } of await listOwnImages(engine, profileId, signal)) {
        const removal = await removeOwnImage(engine, tag, signal);
        if (removal.outcome === "failed")
          problems.push(`The image ${tag} could not be removed: ${removal.reason}`);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AppError) || error.code === "sandbox-held") throw error;
      const find = `${backend} ps -a --filter label=${LABEL.profileId}=${profileId}`;
      problems.push(`Its sandboxes could not be listed: ${error.message} Check later with \`${find}\`.`);
    }
  }
  await removeStableLink(profile, profileId);
  return { removed, problems };
}

/** The profile's containers. Throws if one of them is in use. */
async function listUnusedContainers(
  engine: Engine,
  { name: profile, home }: Profile,
  profileId: string,
  signal: AbortSignal,
) {
  const all = await listContainers(engine, [`label=${LABEL.profileId}=${profileId}`], {}, signal);
  const containers = all.filter(({ labels }) => isOurs(labels));
  for (const { id, name, state } of containers) {
    if (state !== "running") continue;
    const { isHeld, holders, jobs } = await findPersistentUse(engine, id, signal);
    if (!isHeld && jobs.length === 0) continue;
    const why = isHeld
      ? `The sandbox ${name} of ${profile} is in use ${formatHolders(await describeHolders(holders, signal))}.`
      : describeJobs(name, await createJobCommandFinder(home)(jobs, signal));
    throw new AppError("sandbox-held", why, {
      hint: `Wait until it is unused, or remove it with \`hermes -p ${profile} sandbox rm --force\`; then run this command again.`,
    });
  }
  return containers;
}
