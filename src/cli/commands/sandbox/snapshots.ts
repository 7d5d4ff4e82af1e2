import {
  findRestoreSource,
  forkAppSandbox,
  restoreAppSandbox,
} from "../../../app/environments/sandbox-snapshots.ts";
import { listSnapshots } from "../../../environments/docker/snapshots/list-snapshots.ts";
import {
  type PruneRow,
  pruneImages,
  pruneSnapshots,
} from "../../../environments/docker/snapshots/prune-snapshots.ts";
import { snapshotSandbox } from "../../../environments/docker/snapshots/snapshot-sandbox.ts";
import { requireSnapshot } from "../../../environments/docker/snapshots/snapshot-store.ts";
import { formatJob } from "../../../environments/jobs/job-command.ts";
import type { Backend } from "../../../environments/options.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { profileFlag } from "../../profile-flag.ts";
import { formatBytes } from "../../terminal/format-bytes.ts";
import { requireYes } from "../../terminal/require-yes.ts";
import { renderTable } from "../../terminal/table.ts";
import { createSandboxRequest, type DockerContext, openDockerContext } from "./sandbox-context.ts";

/** What users of a backend without snapshots can do instead. */
const INSTEAD: Partial<Record<Backend, string>> = {
  local: "Commands run on this machine itself: use `git worktree` or a copy of the folder.",
  ssh: "Commands run on another machine: use its own snapshots, or `git worktree` there.",
  singularity: "Copy the overlay of the instance while it is stopped.",
};

export async function takeSnapshot(
  context: CommandContext,
  { task, name, json }: JsonOption & { task: string; name?: string },
): Promise<void> {
  const { engine, spec, request } = await dockerWithSnapshots(context, task);
  const options = { name, now: Date.now(), reporter: request.reporter };
  const made = await snapshotSandbox(engine, spec, options, context.signal);
  if (json) {
    const { version: _, profile_id: __, ...row } = made;
    return context.terminal.printJson({ ...row, size_bytes: made.image_bytes + made.files_bytes });
  }
  const size = formatBytes(made.image_bytes + made.files_bytes);
  context.terminal.print(`${made.id}${name === undefined ? "" : ` (${name})`}, ${size}`);
  if (made.left_out.length > 0) {
    context.terminal.note(`Excluded, because other folders are mounted there: ${made.left_out.join(", ")}.`);
  }
}

export async function showSnapshots(context: CommandContext, { json }: JsonOption): Promise<void> {
  const { engine, spec } = await dockerWithSnapshots(context, "default");
  const rows = await listSnapshots(engine, spec, context.signal);
  if (json) return context.terminal.printJson(rows);
  if (rows.length === 0) return context.terminal.print("There are no snapshots.");
  const cells = rows.map((row) => [
    row.id,
    row.name,
    row.task,
    row.created_at,
    formatBytes(row.image_bytes),
    formatBytes(row.files_bytes),
    row.state === "whole" ? row.used_by.join(", ") : "its image is missing",
  ]);
  const header = ["ID", "NAME", "TASK", "CREATED", "IMAGE", "FILES", "USED BY"];
  context.terminal.print(renderTable(header, cells, context.terminal));
}

export async function forkInto(
  context: CommandContext,
  newTask: string,
  { task, snapshot, json }: JsonOption & { task?: string; snapshot?: string },
): Promise<void> {
  if (task !== undefined && snapshot !== undefined) {
    throw new AppError("usage-wrong", "Use either --task or --snapshot, not both.");
  }
  const docker = await dockerWithSnapshots(context, newTask, { mayCreate: true });
  const source = snapshot === undefined ? { task: task ?? "default" } : { snapshot };
  const forked = await forkAppSandbox(docker, source, context.signal);
  if (json) return context.terminal.printJson(printable(forked));
  context.terminal.print(`${forked.name} (${forked.id.slice(0, 12)}), after ${seconds(forked)} s`);
}

export async function restoreFrom(
  context: CommandContext,
  word: string,
  { task, yes, force, json }: JsonOption & { task?: string; yes?: boolean; force?: boolean },
): Promise<void> {
  const docker = await dockerWithSnapshots(context, task ?? "default", { mayCreate: true });
  const source = await findRestoreSource(docker, word, task, context.signal);
  const { spec } = source;
  const question = `Replace the files of the sandbox ${spec.name} with those of ${word}? The current files are saved as a snapshot first.`;
  if (!yes) await requireYes(context, question, "Restoring");
  const restored = await restoreAppSandbox(docker, source, { force: force ?? false }, context.signal);
  const { previousSnapshotId = null, endedJobs } = restored;
  const ended_jobs = endedJobs.map(({ id }) => id);
  if (json)
    return context.terminal.printJson({ ...printable(restored), before: previousSnapshotId, ended_jobs });
  context.terminal.print(`${restored.name} (${restored.id.slice(0, 12)}), after ${seconds(restored)} s`);
  if (previousSnapshotId !== null) {
    const undo = `hermes ${profileFlag(context.flags.profile)}sandbox restore ${previousSnapshotId}`;
    context.terminal.note(`The previous files are kept; undo with \`${undo}\`.`);
  }
  if (endedJobs.length > 0) context.terminal.note(`Ended jobs: ${endedJobs.map(formatJob).join(", ")}.`);
}

export async function pruneSnapshotsAndImages(
  context: CommandContext,
  words: readonly string[],
  options: JsonOption & { olderThan?: number; keep?: number; all?: boolean; dryRun?: boolean },
): Promise<void> {
  const { olderThan, keep, all, dryRun = false, json } = options;
  const { engine, spec, request } = await dockerWithSnapshots(context, "default");
  const ttl = request.options.docker_snapshot_ttl_seconds;
  const byDefault = keep === undefined && ttl > 0 ? ttl * 1_000 : undefined;
  const olderThanMs = olderThan ?? byDefault;
  if (words.length > 0 && (olderThan ?? keep ?? all) !== undefined) {
    throw new AppError("usage-wrong", "Give either snapshots or --older-than, --keep or --all, not both.");
  }
  const named = await Promise.all(words.map(async (word) => (await requireSnapshot(spec, word)).id));
  const only = named.length === 0 ? undefined : new Set(named);
  const rules = { onlyIds: only, olderThanMs, keepNewest: keep, all, dryRun, now: Date.now() };
  const rows = await pruneSnapshots(engine, spec, rules, context.signal);
  if (only === undefined) rows.push(...(await pruneImages(engine, spec, rules, context.signal)));
  if (json) context.terminal.printJson(rows);
  else if (rows.length === 0) context.terminal.print("Nothing to prune.");
  else context.terminal.print(tableOf(rows, dryRun, context));
  const failed = rows.filter(({ action }) => action === "failed").length;
  if (failed > 0) {
    throw new AppError("sandbox-unavailable", `${failed} could not be removed.`, {
      hint: "Run it again; see the reasons above.",
    });
  }
}

function tableOf(rows: readonly PruneRow[], dryRun: boolean, { terminal }: CommandContext): string {
  const cells = rows.map((row) => [row.name, row.task, formatBytes(row.size_bytes), row.action, row.reason]);
  return renderTable(["NAME", "TASK", "SIZE", dryRun ? "WOULD BE" : "ACTION", "WHY"], cells, terminal);
}

async function dockerWithSnapshots(
  context: CommandContext,
  task: string,
  options: { readonly mayCreate?: boolean } = {},
): Promise<DockerContext> {
  const { backend } = (await createSandboxRequest(context, task)).request.options;
  const instead = INSTEAD[backend];
  if (instead !== undefined) {
    throw new AppError("sandbox-unavailable", `terminal.backend is ${backend}, which has no snapshots.`, {
      hint: `${instead} Docker and podman have snapshots: \`hermes config set terminal.backend docker\`.`,
    });
  }
  return openDockerContext(context, task, options);
}

function printable(forked: { id: string; name: string; task: string; origin: string; durationMs: number }) {
  const { id, name, task, origin, durationMs } = forked;
  return { id, name, task, origin, duration_ms: Math.round(durationMs) };
}

function seconds({ durationMs }: { readonly durationMs: number }): string {
  return (durationMs / 1_000).toFixed(1);
}
