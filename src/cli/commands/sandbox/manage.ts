import { type Container, findContainer } from "../../../environments/docker/container.ts";
import { belongsTo, findChosenSandbox, listAside } from "../../../environments/docker/find-sandbox.ts";
import { LABEL } from "../../../environments/docker/labels.ts";
import { reclaimSandboxes } from "../../../environments/docker/reclaim.ts";
import { removeSandbox, stopSandbox } from "../../../environments/docker/remove-sandbox.ts";
import { requireUnused } from "../../../environments/docker/require-unused.ts";
import { forgetSandbox } from "../../../environments/docker/sandbox-record.ts";
import { reclaimSnapshots } from "../../../environments/docker/snapshots/reclaim-snapshots.ts";
import {
  keepRules,
  keptUntil,
  loadStandings,
  type Standing,
  showMoment,
} from "../../../environments/docker/stopped-sandbox.ts";
import { lookUpJobsOf, type SeenJob, showJob } from "../../../environments/jobs/seen-job.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { renderTable } from "../../table.ts";
import { listKnownProfiles } from "./known-profiles.ts";
import { dockerFor } from "./place.ts";

interface TaskOptions {
  readonly task: string;
  /** A sandbox by its name or id, instead of the task's. */
  readonly chosen: string | undefined;
  readonly force?: boolean;
  readonly json?: boolean;
}

export async function stopOne(context: CommandContext, options: TaskOptions): Promise<void> {
  const { engine, container, keep, place, jobs } = await requireFree(context, options);
  const end = await stopSandbox(engine, container.id, context.signal);
  const stopped = await findContainer(engine, container.id, context.signal);
  const standing = await (await loadStandings([place]))(container, context.signal);
  const until = stopped && keptUntil(stopped, standing, keep);
  const json = { kept_until: until === undefined ? null : new Date(until).toISOString() };
  const words = describeStopped(stopped, standing, until);
  conclude(context, options, container, end, jobs, { json, words });
}

/** What becomes of a sandbox that was stopped. */
function describeStopped(
  stopped: Container | undefined,
  standing: Standing,
  until: number | undefined,
): string {
  if (stopped === undefined) return "";
  if (standing === "left")
    return " No command starts it again, because the process that it was made for has ended; `hermes sandbox gc` removes it.";
  if ((stopped.labels[LABEL.owner] ?? "") !== "") {
    const end = until === undefined ? "" : `; it is kept until ${showMoment(until)}`;
    return ` No other command starts it again, because it was made for one process alone${end}.`;
  }
  const start = "The next command starts it again";
  if (until === undefined)
    return ` ${start}; it is kept for ever (terminal.docker_stopped_ttl_seconds is 0).`;
  return ` ${start}; unused, it is kept until ${showMoment(until)} (terminal.docker_stopped_ttl_seconds).`;
}

export async function removeOne(context: CommandContext, options: TaskOptions): Promise<void> {
  const { engine, container, place, jobs } = await requireFree(context, options);
  // Those that were moved aside first: without the sandbox, they would look like what has to be put back.
  for (const { id } of await listAside(engine, place, context.signal)) {
    await removeSandbox(engine, id, context.signal);
    await forgetSandbox(place, id);
  }
  const removed = await removeSandbox(engine, container.id, context.signal);
  if (removed.outcome !== "failed") await forgetSandbox(place, container.id);
  conclude(context, options, container, removed, jobs);
}

export async function collectGarbage(
  context: CommandContext,
  { dryRun, allProfiles, json }: { dryRun?: boolean; allProfiles?: boolean; json?: boolean },
): Promise<void> {
  const { engine, request, sandboxesFolder } = await dockerFor(context, "default", {
    recover: false, // it is part of the report
  });
  const { options } = request;
  const profileId = await request.profileId();
  const sandboxes = await reclaimSandboxes(
    engine,
    {
      profileId: allProfiles ? undefined : profileId,
      places: allProfiles
        ? await listKnownProfiles(context, request.profile.root)
        : [{ sandboxesFolder, profileId }],
      ...keepRules(options),
      idleTtlSeconds: options.docker_idle_ttl_seconds,
      maxAgeSeconds: options.docker_max_age_seconds,
      dryRun: dryRun ?? false,
      now: Date.now(),
      lookUpJobs: lookUpJobsOf(request.profile.home),
    },
    context.signal,
  );
  // After the containers, which may have been the last to need an image.
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
      hint: "Run it again; the reasons are above.",
    });
}

async function requireFree(context: CommandContext, { task, chosen, force }: TaskOptions) {
  const { engine, spec, request } = await dockerFor(context, task);
  const container = await findChosenSandbox(engine, spec, chosen, context.signal);
  if (!container || (chosen === undefined && !belongsTo(container, spec))) {
    throw new AppError("sandbox-unavailable", `There is no sandbox ${spec.name}.`, {
      hint: "See `hermes sandbox list`.",
    });
  }
  const lookUpJobs = lookUpJobsOf(request.profile.home);
  const jobs = await requireUnused(engine, container, { force: force ?? false, lookUpJobs }, context.signal);
  const named = { name: container.name, task: container.labels[LABEL.task] ?? task };
  const place = chosen === undefined ? spec : { ...spec, ...named };
  return { engine, container, place, jobs, keep: keepRules(request.options) };
}

function conclude(
  context: CommandContext,
  { json }: TaskOptions,
  { id, name }: Container,
  end: { readonly outcome: string; readonly reason?: string },
  jobs: readonly SeenJob[],
  more: { readonly json: object; readonly words: string } = { json: {}, words: "" },
): void {
  if (end.outcome === "failed") throw new AppError("sandbox-unavailable", `${name}: ${end.reason}`);
  const ended_jobs = jobs.map((job) => job.id);
  const which = jobs.length === 0 ? "" : ` Jobs that ended with it: ${jobs.map(showJob).join(", ")}.`;
  if (json) context.terminal.printJson({ id, name, outcome: end.outcome, ended_jobs, ...more.json });
  else context.terminal.note(`${name}: ${end.outcome}.${more.words}${which}`);
}
