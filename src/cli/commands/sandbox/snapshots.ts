import { prepareDocker } from "../../../environments/docker/prepare-docker.ts";
import type { SandboxSpec } from "../../../environments/docker/sandbox-spec.ts";
import { forkSandbox } from "../../../environments/docker/snapshots/fork-sandbox.ts";
import { listSnapshots } from "../../../environments/docker/snapshots/list-snapshots.ts";
import {
  type PruneRow,
  pruneImages,
  pruneSnapshots,
} from "../../../environments/docker/snapshots/prune-snapshots.ts";
import { restoreSandbox } from "../../../environments/docker/snapshots/restore-sandbox.ts";
import { snapshotSandbox } from "../../../environments/docker/snapshots/snapshot-sandbox.ts";
import { requireSnapshot } from "../../../environments/docker/snapshots/snapshot-store.ts";
import { lookUpJobsOf, showJob } from "../../../environments/jobs/seen-job.ts";
import type { Backend } from "../../../environments/options.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { showBytes } from "../../show-bytes.ts";
import { renderTable } from "../../table.ts";
import { type DockerDesk, dockerFor, requestFor } from "./place.ts";

interface JsonOption {
  readonly json?: boolean;
}

/** What to do where there are no snapshots. */
const INSTEAD: Partial<Record<Backend, string>> = {
  local: "Commands run on this machine itself: use `git worktree` or a copy of the folder.",
  ssh: "Commands run on another machine: use its own snapshots, or `git worktree` there.",
  singularity: "Copy the overlay of the instance while it is stopped.",
};

export async function takeSnapshot(
  context: CommandContext,
  { task, name, json }: JsonOption & { task: string; name?: string },
): Promise<void> {
  const { engine, spec, sandboxesFolder, request } = await placeOf(context, task);
  const options = { name, sandboxesFolder, now: Date.now(), reporter: request.reporter };
  const made = await snapshotSandbox(engine, spec, options, context.signal);
  if (json) {
    const { version: _, profile_id: __, ...row } = made;
    return context.terminal.printJson({ ...row, size_bytes: made.image_bytes + made.files_bytes });
  }
  const size = showBytes(made.image_bytes + made.files_bytes);
  context.terminal.print(`${made.id}${name === undefined ? "" : ` (${name})`}, ${size}`);
  if (made.left_out.length > 0) {
    context.terminal.note(
      `Not part of it, because other folders are mounted there: ${made.left_out.join(", ")}.`,
    );
  }
}

export async function showSnapshots(context: CommandContext, { json }: JsonOption): Promise<void> {
  const { engine, spec, sandboxesFolder } = await placeOf(context, "default");
  const rows = await listSnapshots(engine, { sandboxesFolder, profileId: spec.profileId }, context.signal);
  if (json) return context.terminal.printJson(rows);
  if (rows.length === 0) return context.terminal.print("There are no snapshots.");
  const cells = rows.map((row) => [
    row.id,
    row.name,
    row.task,
    row.created_at,
    showBytes(row.image_bytes),
    showBytes(row.files_bytes),
    row.state === "whole" ? row.used_by.join(", ") : "its image is missing",
  ]);
  const header = ["ID", "NAME", "TASK", "MADE", "IMAGE", "FILES", "USED BY"];
  context.terminal.print(renderTable(header, cells, context.terminal));
}

export async function forkInto(
  context: CommandContext,
  newTask: string,
  { task, snapshot, json }: JsonOption & { task?: string; snapshot?: string },
): Promise<void> {
  if (task !== undefined && snapshot !== undefined) {
    throw new AppError("usage-wrong", "A fork begins with --task or with --snapshot, not with both.");
  }
  const { engine, spec, sandboxesFolder, request } = await placeOf(context, newTask, { makes: true });
  const { reporter } = request;
  const from = async (other: string): Promise<SandboxSpec> =>
    (await prepareDocker({ ...request, task: other, reporter: quiet }, context.signal)).spec;
  const place = { sandboxesFolder, profileId: spec.profileId };
  const source =
    snapshot === undefined
      ? { sandbox: await from(task ?? "default") }
      : { snapshot: await requireSnapshot(place, snapshot) };
  const options = { sandboxesFolder, now: Date.now(), reporter };
  const forked = await forkSandbox(engine, source, spec, options, context.signal);
  if (json) return context.terminal.printJson(printable(forked));
  context.terminal.print(`${forked.name} (${forked.id.slice(0, 12)}), after ${seconds(forked)} s`);
}

export async function restoreFrom(
  context: CommandContext,
  word: string,
  { task, yes, force, json }: JsonOption & { task?: string; yes?: boolean; force?: boolean },
): Promise<void> {
  const place = await placeOf(context, task ?? "default", { makes: true });
  const { engine, sandboxesFolder, request, spec: asked } = place;
  const snapshot = await requireSnapshot({ sandboxesFolder, profileId: asked.profileId }, word);
  const spec =
    task === undefined
      ? (await prepareDocker({ ...request, task: snapshot.task, reporter: quiet }, context.signal)).spec
      : asked;
  if (!yes) await confirm(context, spec, word);
  const options = {
    sandboxesFolder,
    now: Date.now(),
    reporter: request.reporter,
    force: force ?? false,
    lookUpJobs: lookUpJobsOf(request.profile.home),
  };
  const restored = await restoreSandbox(engine, snapshot, spec, options, context.signal);
  const { before = null, endedJobs } = restored;
  const ended_jobs = endedJobs.map(({ id }) => id);
  if (json) return context.terminal.printJson({ ...printable(restored), before, ended_jobs });
  context.terminal.print(`${restored.name} (${restored.id.slice(0, 12)}), after ${seconds(restored)} s`);
  if (before !== null)
    context.terminal.note(`What was there before is kept: \`hermes sandbox restore ${before}\`.`);
  if (endedJobs.length > 0)
    context.terminal.note(`Jobs that ended with the old one: ${endedJobs.map(showJob).join(", ")}.`);
}

export async function pruneOld(
  context: CommandContext,
  words: readonly string[],
  {
    olderThan,
    keep,
    all,
    dryRun,
    json,
  }: JsonOption & { olderThan?: number; keep?: number; all?: boolean; dryRun?: boolean },
): Promise<void> {
  const { engine, spec, sandboxesFolder, request } = await placeOf(context, "default");
  const place = { sandboxesFolder, profileId: spec.profileId };
  const ttl = request.options.docker_snapshot_ttl_seconds;
  const byDefault = keep === undefined && ttl > 0 ? ttl * 1_000 : undefined;
  const olderThanMs = olderThan ?? byDefault;
  if (words.length > 0 && (olderThan ?? keep ?? all) !== undefined) {
    throw new AppError("usage-wrong", "Name snapshots or give a rule for them, not both.");
  }
  const named = await Promise.all(words.map(async (word) => (await requireSnapshot(place, word)).id));
  const only = named.length === 0 ? undefined : new Set(named);
  const rules = { only, olderThanMs, keep, all, dryRun: dryRun ?? false, now: Date.now() };
  const rows = await pruneSnapshots(engine, place, rules, context.signal);
  if (only === undefined) rows.push(...(await pruneImages(engine, place, rules, context.signal)));
  if (json) context.terminal.printJson(rows);
  else if (rows.length === 0) context.terminal.print("There is nothing to prune.");
  else context.terminal.print(tableOf(rows, dryRun ?? false, context));
  const failed = rows.filter(({ action }) => action === "failed").length;
  if (failed > 0) {
    throw new AppError("sandbox-unavailable", `${failed} could not be removed.`, {
      hint: "Run it again; the reasons are above.",
    });
  }
}

function tableOf(rows: readonly PruneRow[], dryRun: boolean, { terminal }: CommandContext): string {
  const cells = rows.map((row) => [row.name, row.task, showBytes(row.size_bytes), row.action, row.reason]);
  return renderTable(["NAME", "TASK", "SIZE", dryRun ? "WOULD BE" : "ACTION", "WHY"], cells, terminal);
}

async function confirm({ terminal, signal }: CommandContext, spec: SandboxSpec, word: string): Promise<void> {
  const question = `Replace the files of the sandbox ${spec.name} by those of ${word}? What is there now is kept as a snapshot. [y/N] `;
  const typed = await terminal.ask(question, signal);
  if (typed === undefined) throw new AppError("confirmation-missing", "Restoring needs a yes.");
  if (!/^y(es)?$/i.test(typed.trim()))
    throw new AppError("confirmation-missing", "That was no yes; nothing was changed.");
}

/** Told once, for the sandbox that is made. */
const quiet = { onNotice: () => undefined, onProgress: () => undefined };

async function placeOf(
  context: CommandContext,
  task: string,
  options: { readonly makes?: boolean } = {},
): Promise<DockerDesk> {
  const { backend } = (await requestFor(context, task)).request.options;
  const instead = INSTEAD[backend];
  if (instead !== undefined) {
    throw new AppError("sandbox-unavailable", `terminal.backend is ${backend}, which has no snapshots.`, {
      hint: `${instead} Docker and podman have snapshots: \`hermes config set terminal.backend docker\`.`,
    });
  }
  return dockerFor(context, task, options);
}

function printable(forked: { id: string; name: string; task: string; origin: string; durationMs: number }) {
  const { id, name, task, origin, durationMs } = forked;
  return { id, name, task, origin, duration_ms: Math.round(durationMs) };
}

function seconds({ durationMs }: { readonly durationMs: number }): string {
  return (durationMs / 1_000).toFixed(1);
}
