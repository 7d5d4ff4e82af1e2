import { listFilledMemoryFolders } from "../../environments/docker/isolation/memory-folders.ts";
import { type Container, findContainer } from "../../environments/docker/lifecycle/container.ts";
import {
  belongsTo,
  findChosenSandbox,
  listReplaced,
} from "../../environments/docker/lifecycle/find-sandbox.ts";
import {
  type Removal,
  removeSandbox,
  stopSandbox,
} from "../../environments/docker/lifecycle/remove-sandbox.ts";
import { requireUnused } from "../../environments/docker/lifecycle/require-unused.ts";
import { deleteSandboxRecord } from "../../environments/docker/lifecycle/sandbox-record.ts";
import {
  keepRules,
  keptUntil,
  loadRecordStatuses,
  type RecordStatus,
} from "../../environments/docker/reclaim/keep-rules.ts";
import { type ReclaimReport, reclaimSandboxes } from "../../environments/docker/reclaim/reclaim.ts";
import { reclaimSnapshots } from "../../environments/docker/snapshots/reclaim-snapshots.ts";
import { LABEL } from "../../environments/docker/spec/labels.ts";
import { createJobCommandFinder, type JobCommand } from "../../environments/jobs/job-command.ts";
import { AppError } from "../../lib/errors.ts";
import type { AppChoice } from "../app.ts";
import { listKnownProfiles, type OpenedDocker } from "./sandbox.ts";

/** The sandbox that a user wants to end. */
export interface SandboxToEnd {
  readonly task: string;
  /** The name or id of a sandbox, instead of the task's sandbox. */
  readonly chosenSandbox: string | undefined;
  /** End it even while it is in use, runs a job or holds files in memory. */
  readonly force: boolean;
}

export interface EndedSandbox {
  /** The container before it was ended. */
  readonly container: Container;
  readonly outcome: Exclude<Removal["outcome"], "failed">;
  /** The jobs that ran in it. */
  readonly jobs: readonly JobCommand[];
}

export interface StoppedSandbox extends EndedSandbox {
  /** The container after it was stopped; undefined if another process removed it. */
  readonly stopped: Container | undefined;
  readonly recordStatus: RecordStatus;
  /** When it will be removed; undefined if no such time is known. */
  readonly keptUntil: number | undefined;
  /** The folders in memory whose files were lost. */
  readonly lostFolders: readonly string[];
}

/** Stops a sandbox. Throws while it is in use or holds files in memory, unless `force` is set. */
export async function stopChosenSandbox(
  docker: OpenedDocker,
  choice: SandboxToEnd,
  signal: AbortSignal,
): Promise<StoppedSandbox> {
  const { engine } = docker;
  const { container, store, jobs } = await requireFree(docker, choice, signal);
  const lostFolders = await listFilledMemoryFolders(engine, container, signal);
  if (lostFolders.length > 0 && !choice.force) {
    const what = `The files in ${lostFolders.join(" and ")} of the sandbox ${container.name} are in memory`;
    throw new AppError("sandbox-refused", `${what}: stopping it deletes them.`, {
      hint: "Copy them with `hermes sandbox cp`, save them with `hermes sandbox snapshot`, or add --force.",
    });
  }
  const outcome = requireEnded(container, await stopSandbox(engine, container.id, signal));
  const stopped = await findContainer(engine, container.id, signal);
  const recordStatus = await (await loadRecordStatuses([store]))(container, signal);
  const until = stopped && keptUntil(stopped, recordStatus, keepRules(docker.request.options));
  return { container, outcome, jobs, stopped, recordStatus, keptUntil: until, lostFolders };
}

/** Removes a sandbox and its record. Throws while it is in use, unless `force` is set. */
export async function removeChosenSandbox(
  docker: OpenedDocker,
  choice: SandboxToEnd,
  signal: AbortSignal,
): Promise<EndedSandbox> {
  const { engine } = docker;
  const { container, store, jobs } = await requireFree(docker, choice, signal);
  // Containers that an operation moved aside are removed first: recovery would restore them if the sandbox were gone.
  for (const { id } of await listReplaced(engine, store, signal)) {
    await removeSandbox(engine, id, signal);
    await deleteSandboxRecord(store, id);
  }
  const outcome = requireEnded(container, await removeSandbox(engine, container.id, signal));
  await deleteSandboxRecord(store, container.id);
  return { container, outcome, jobs };
}

function requireEnded({ name }: Container, end: Removal): EndedSandbox["outcome"] {
  if (end.outcome !== "failed") return end.outcome;
  throw new AppError("sandbox-unavailable", `${name}: ${end.reason}`);
}

async function requireFree(
  { engine, spec, request }: OpenedDocker,
  { task, chosenSandbox, force }: SandboxToEnd,
  signal: AbortSignal,
) {
  const container = await findChosenSandbox(engine, spec, chosenSandbox, signal);
  if (!container || (chosenSandbox === undefined && !belongsTo(container, spec))) {
    throw new AppError("sandbox-unavailable", `There is no sandbox ${spec.name}.`, {
      hint: "See `hermes sandbox list`.",
    });
  }
  const lookUpJobs = createJobCommandFinder(request.profile.home);
  const jobs = await requireUnused(engine, container, { force, lookUpJobs }, signal);
  const named = { name: container.name, task: container.labels[LABEL.task] ?? task };
  const store = chosenSandbox === undefined ? spec : { ...spec, ...named };
  return { container, store, jobs };
}

export interface GarbageOptions {
  /** Only report what would be done. */
  readonly dryRun: boolean;
  readonly allProfiles: boolean;
}

/** Stops and removes unused sandboxes and snapshots, according to the settings. */
export async function collectGarbage(
  { engine, request, sandboxesFolder }: Pick<OpenedDocker, "engine" | "request" | "sandboxesFolder">,
  { dryRun, allProfiles }: GarbageOptions,
  choice: Pick<AppChoice, "variables" | "settings">,
  signal: AbortSignal,
): Promise<ReclaimReport> {
  const { options } = request;
  const profileId = await request.profileId();
  const now = Date.now();
  const sandboxes = await reclaimSandboxes(
    engine,
    {
      profileId: allProfiles ? undefined : profileId,
      stores: allProfiles
        ? await listKnownProfiles(choice, request.profile.root)
        : [{ sandboxesFolder, profileId }],
      ...keepRules(options),
      idleTtlSeconds: options.docker_idle_ttl_seconds,
      maxAgeSeconds: options.docker_max_age_seconds,
      dryRun,
      now,
      lookUpJobs: createJobCommandFinder(request.profile.home),
    },
    signal,
  );
  // After the containers, because a removed container may have been the last user of an image.
  const snapshots = await reclaimSnapshots(
    engine,
    { sandboxesFolder, profileId },
    { ttlSeconds: options.docker_snapshot_ttl_seconds, dryRun, now },
    signal,
  );
  return { rows: [...sandboxes.rows, ...snapshots.rows], problem: sandboxes.problem ?? snapshots.problem };
}
