import { listKnownProfiles } from "../../../app/environments/sandbox.ts";
import {
  listFilledMemoryFolders,
  listMemoryFolders,
} from "../../../environments/docker/isolation/memory-folders.ts";
import { type Container, findContainer } from "../../../environments/docker/lifecycle/container.ts";
import {
  belongsTo,
  findChosenSandbox,
  listReplaced,
} from "../../../environments/docker/lifecycle/find-sandbox.ts";
import { removeSandbox, stopSandbox } from "../../../environments/docker/lifecycle/remove-sandbox.ts";
import { requireUnused } from "../../../environments/docker/lifecycle/require-unused.ts";
import { deleteSandboxRecord } from "../../../environments/docker/lifecycle/sandbox-record.ts";
import {
  formatMinute,
  keepRules,
  keptUntil,
  loadRecordStatuses,
  type RecordStatus,
} from "../../../environments/docker/reclaim/keep-rules.ts";
import { reclaimSandboxes } from "../../../environments/docker/reclaim/reclaim.ts";
import { reclaimSnapshots } from "../../../environments/docker/snapshots/reclaim-snapshots.ts";
import { LABEL } from "../../../environments/docker/spec/labels.ts";
import {
  createJobCommandFinder,
  formatJob,
  type JobCommand,
} from "../../../environments/jobs/job-command.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { renderTable } from "../../terminal/table.ts";
import { type ChosenOptions, openDockerContext } from "./sandbox-context.ts";

interface EndOptions extends ChosenOptions {
  readonly force?: boolean;
}

export async function stopChosenSandbox(context: CommandContext, options: EndOptions): Promise<void> {
  const { engine, container, keep, store, jobs } = await requireFree(context, options);
  const lost = await listFilledMemoryFolders(engine, container, context.signal);
  if (lost.length > 0 && !options.force) {
    const what = `The files in ${lost.join(" and ")} of the sandbox ${container.name} are in memory`;
    throw new AppError("sandbox-refused", `${what}: stopping it deletes them.`, {
      hint: "Copy them with `hermes sandbox cp`, save them with `hermes sandbox snapshot`, or add --force.",
    });
  }
  const end = await stopSandbox(engine, container.id, context.signal);
  const stopped = await findContainer(engine, container.id, context.signal);
  const recordStatus = await (await loadRecordStatuses([store]))(container, context.signal);
  const until = stopped && keptUntil(stopped, recordStatus, keep);
  const kept_until = until === undefined ? null : new Date(until).toISOString();
  const json = { kept_until, lost_folders: lost };
  const words = `${describeStopped(stopped, recordStatus, until)}${describeLoss(container)}`;
  report(context, options, container, end, jobs, { json, words });
}

function describeStopped(
  stopped: Container | undefined,
  recordStatus: RecordStatus,
  until: number | undefined,
): string {
  if (stopped === undefined) return "";
  if (recordStatus === "abandoned")
    return " No command starts it again, because the process that created it has exited; `hermes sandbox gc` removes it.";
  if ((stopped.labels[LABEL.owner] ?? "") !== "") {
    const end = until === undefined ? "" : `; it is kept until ${formatMinute(until)}`;
    return ` No other command starts it again, because it belongs to one process${end}.`;
  }
  const start = "The next command starts it again";
  if (until === undefined)
    return ` ${start}; it is kept indefinitely (terminal.docker_stopped_ttl_seconds is 0).`;
  return ` ${start}; unused, it is kept until ${formatMinute(until)} (terminal.docker_stopped_ttl_seconds).`;
}

function describeLoss(container: Container): string {
  const folders = listMemoryFolders(container);
  return folders.length === 0 ? "" : ` ${folders.join(" and ")} were in memory: their files are lost.`;
}

export async function removeChosenSandbox(context: CommandContext, options: EndOptions): Promise<void> {
  const { engine, container, store, jobs } = await requireFree(context, options);
  // Containers that an operation moved aside are removed first: recovery would restore them if the sandbox were gone.
  for (const { id } of await listReplaced(engine, store, context.signal)) {
    await removeSandbox(engine, id, context.signal);
    await deleteSandboxRecord(store, id);
  }
  const removed = await removeSandbox(engine, container.id, context.signal);
  if (removed.outcome !== "failed") await deleteSandboxRecord(store, container.id);
  report(context, options, container, removed, jobs, { json: {}, words: describeLoss(container) });
}

export async function collectGarbage(
  context: CommandContext,
  { dryRun, allProfiles, json }: { dryRun?: boolean; allProfiles?: boolean; json?: boolean },
): Promise<void> {
  const { engine, request, sandboxesFolder } = await openDockerContext(context, "default", {
    recover: false, // reclaimSandboxes recovers and reports it
  });
  const { options } = request;
  const profileId = await request.profileId();
  const sandboxes = await reclaimSandboxes(
    engine,
    {
      profileId: allProfiles ? undefined : profileId,
      stores: allProfiles
        ? await listKnownProfiles(context.choice, request.profile.root)
        : [{ sandboxesFolder, profileId }],
      ...keepRules(options),
      idleTtlSeconds: options.docker_idle_ttl_seconds,
      maxAgeSeconds: options.docker_max_age_seconds,
      dryRun: dryRun ?? false,
      now: Date.now(),
      lookUpJobs: createJobCommandFinder(request.profile.home),
    },
    context.signal,
  );
  // After the containers, because a removed container may have been the last user of an image.
  const snapshots = await reclaimSnapshots(
    engine,
    { sandboxesFolder, profileId },
    { ttlSeconds: options.docker_snapshot_ttl_seconds, dryRun: dryRun ?? false, now: Date.now() },
    context.signal,
  );
  const rows = [...sandboxes.rows, ...snapshots.rows];
  const problem = sandboxes.problem ?? snapshots.problem;
  if (json) context.terminal.printJson(rows);
  else if (rows.length > 0) {
    const cells = rows.map((row) => [row.name, row.state, row.action, row.reason]);
    context.terminal.print(
      renderTable(["NAME", "STATE", dryRun ? "WOULD BE" : "ACTION", "WHY"], cells, context.terminal),
    );
  } else if (problem === undefined) context.terminal.print("There are no sandboxes.");
  if (problem !== undefined) throw new AppError("sandbox-unavailable", problem);
  const failed = rows.filter((row) => row.action === "failed").length;
  if (failed > 0)
    throw new AppError("sandbox-unavailable", `${failed} could not be reclaimed.`, {
      hint: "Run it again; see the reasons above.",
    });
}

async function requireFree(context: CommandContext, { task, chosenSandbox, force }: EndOptions) {
  const { engine, spec, request } = await openDockerContext(context, task);
  const container = await findChosenSandbox(engine, spec, chosenSandbox, context.signal);
  if (!container || (chosenSandbox === undefined && !belongsTo(container, spec))) {
    throw new AppError("sandbox-unavailable", `There is no sandbox ${spec.name}.`, {
      hint: "See `hermes sandbox list`.",
    });
  }
  const lookUpJobs = createJobCommandFinder(request.profile.home);
  const jobs = await requireUnused(engine, container, { force: force ?? false, lookUpJobs }, context.signal);
  const named = { name: container.name, task: container.labels[LABEL.task] ?? task };
  const store = chosenSandbox === undefined ? spec : { ...spec, ...named };
  return { engine, container, store, jobs, keep: keepRules(request.options) };
}

function report(
  context: CommandContext,
  { json }: EndOptions,
  { id, name }: Container,
  end: { readonly outcome: string; readonly reason?: string },
  jobs: readonly JobCommand[],
  more: { readonly json: object; readonly words: string },
): void {
  if (end.outcome === "failed") throw new AppError("sandbox-unavailable", `${name}: ${end.reason}`);
  const ended_jobs = jobs.map((job) => job.id);
  const which = jobs.length === 0 ? "" : ` Ended jobs: ${jobs.map(formatJob).join(", ")}.`;
  if (json) context.terminal.printJson({ id, name, outcome: end.outcome, ended_jobs, ...more.json });
  else context.terminal.note(`${name}: ${end.outcome}.${more.words}${which}`);
}
