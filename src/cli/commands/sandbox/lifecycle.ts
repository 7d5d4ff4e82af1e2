import {
  collectGarbage as collectAppGarbage,
  type EndedSandbox,
  removeChosenSandbox as removeSandbox,
  type StoppedSandbox,
  stopChosenSandbox as stopSandbox,
} from "../../../app/environments/sandbox-lifecycle.ts";
import { listMemoryFolders } from "../../../environments/docker/isolation/memory-folders.ts";
import type { Container } from "../../../environments/docker/lifecycle/container.ts";
import { formatMinute } from "../../../environments/docker/reclaim/keep-rules.ts";
import { LABEL } from "../../../environments/docker/spec/labels.ts";
import { formatJob } from "../../../environments/jobs/job-command.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { renderTable } from "../../terminal/table.ts";
import { type ChosenOptions, openDockerContext } from "./sandbox-context.ts";

interface EndOptions extends ChosenOptions {
  readonly force?: boolean;
}

export async function stopChosenSandbox(context: CommandContext, options: EndOptions): Promise<void> {
  const docker = await openDockerContext(context, options.task);
  const ended = await stopSandbox(docker, { ...options, force: options.force ?? false }, context.signal);
  const { keptUntil, lostFolders, container } = ended;
  const kept_until = keptUntil === undefined ? null : new Date(keptUntil).toISOString();
  const json = { kept_until, lost_folders: lostFolders };
  const words = `${describeStopped(ended)}${describeLoss(container)}`;
  report(context, options, ended, { json, words });
}

function describeStopped({ stopped, recordStatus, keptUntil: until }: StoppedSandbox): string {
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
  const docker = await openDockerContext(context, options.task);
  const ended = await removeSandbox(docker, { ...options, force: options.force ?? false }, context.signal);
  report(context, options, ended, { json: {}, words: describeLoss(ended.container) });
}

export async function collectGarbage(
  context: CommandContext,
  { dryRun = false, allProfiles = false, json }: { dryRun?: boolean; allProfiles?: boolean; json?: boolean },
): Promise<void> {
  const docker = await openDockerContext(context, "default", {
    recover: false, // reclaimSandboxes recovers and reports it
  });
  const { rows, problem } = await collectAppGarbage(
    docker,
    { dryRun, allProfiles },
    context.choice,
    context.signal,
  );
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

function report(
  context: CommandContext,
  { json }: EndOptions,
  { container: { id, name }, outcome, jobs }: EndedSandbox,
  more: { readonly json: object; readonly words: string },
): void {
  const ended_jobs = jobs.map((job) => job.id);
  const which = jobs.length === 0 ? "" : ` Ended jobs: ${jobs.map(formatJob).join(", ")}.`;
  if (json) context.terminal.printJson({ id, name, outcome, ended_jobs, ...more.json });
  else context.terminal.note(`${name}: ${outcome}.${more.words}${which}`);
}
