import { spawn } from "node:child_process";
import { type Container, findContainer } from "../../../environments/docker/container.ts";
import { changesClient } from "../../../environments/docker/create-arguments.ts";
import type { Engine } from "../../../environments/docker/engine.ts";
import { ensureSandbox } from "../../../environments/docker/ensure-sandbox.ts";
import { belongsTo, findSandbox, listAside } from "../../../environments/docker/find-sandbox.ts";
import { CHANNEL_MARK } from "../../../environments/docker/keeper.ts";
import { reclaimSandboxes } from "../../../environments/docker/reclaim.ts";
import { removeSandbox, stopSandbox } from "../../../environments/docker/remove-sandbox.ts";
import { isHeld } from "../../../environments/docker/sandbox-processes.ts";
import { forgetSandbox } from "../../../environments/docker/sandbox-record.ts";
import type { SandboxSpec } from "../../../environments/docker/sandbox-spec.ts";
import { reclaimSnapshots } from "../../../environments/docker/snapshots/reclaim-snapshots.ts";
import {
  keepRules,
  keptUntil,
  loadStandings,
  showMoment,
} from "../../../environments/docker/stopped-sandbox.ts";
import type { Reporter } from "../../../environments/environment-request.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { renderTable } from "../../table.ts";
import { listKnownProfiles } from "./known-profiles.ts";
import { dockerFor } from "./place.ts";

interface TaskOptions {
  readonly task: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** A shell for a person; it counts as use of the sandbox while it is open. */
export async function openShell(context: CommandContext, { task }: { task: string }): Promise<void> {
  const { engine, spec, request } = await dockerFor(context, task);
  if (!context.terminal.interactive) {
    throw new AppError("usage-wrong", "A shell needs a terminal.", {
      hint: "For scripts there is `hermes sandbox exec -- COMMAND`.",
    });
  }
  const { id } = await ensureSandbox(engine, spec, request.reporter, context.signal);
  const start = "if command -v bash >/dev/null 2>&1; then bash; else sh; fi";
  const { flags, variables } = forwardedToShell(spec, engine, request.reporter);
  const args = ["exec", "-it", ...flags, "-w", spec.workingFolder, id, "sh", "-c", start, CHANNEL_MARK];
  const child = spawn(engine.binary, args, { stdio: "inherit", env: { ...engine.env, ...variables } });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  context.exit(code ?? 1);
}

/**
 * The variables of `env_passthrough` and `docker_forward_env`, for a client that takes values from its own environment,
 * where no list of processes shows them.
 */
function forwardedToShell(
  { forwardedVariables }: SandboxSpec,
  { env }: Engine,
  { onNotice }: Reporter,
): { readonly flags: readonly string[]; readonly variables: Readonly<Record<string, string>> } {
  const entries = [...forwardedVariables].filter(([name, value]) => {
    if (!changesClient(name) || env[name] === value) return true;
    onNotice(`${name} is not handed to the shell: it would change what the container program itself does.`);
    return false;
  });
  return {
    flags: entries.flatMap(([name]) => ["--env", name]),
    variables: Object.fromEntries(entries),
  };
}

export async function stopOne(context: CommandContext, options: TaskOptions): Promise<void> {
  const { engine, container, keep, place } = await requireFree(context, options);
  const end = await stopSandbox(engine, container.id, context.signal);
  const stopped = await findContainer(engine, container.id, context.signal);
  const standing = (await loadStandings([place]))(container);
  const until = stopped && keptUntil(stopped, standing, keep);
  const json = { kept_until: until === undefined ? null : new Date(until).toISOString() };
  conclude(context, options, container, end, { json, words: describeStopped(stopped, until) });
}

/** What becomes of a sandbox that was stopped. */
function describeStopped(stopped: Container | undefined, until: number | undefined): string {
  if (stopped === undefined) return "";
  const start = "The next command starts it again";
  if (until === undefined)
    return ` ${start}; it is kept for ever (terminal.docker_stopped_ttl_seconds is 0).`;
  return ` ${start}; unused, it is kept until ${showMoment(until)} (terminal.docker_stopped_ttl_seconds).`;
}

export async function removeOne(context: CommandContext, options: TaskOptions): Promise<void> {
  const { engine, container, place } = await requireFree(context, options);
  // Those that were moved aside first: without the sandbox, they would look like what has to be put back.
  for (const { id } of await listAside(engine, place, context.signal)) {
    await removeSandbox(engine, id, context.signal);
    await forgetSandbox(place, id);
  }
  const removed = await removeSandbox(engine, container.id, context.signal);
  if (removed.outcome !== "failed") await forgetSandbox(place, container.id);
  conclude(context, options, container, removed);
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

async function requireFree(context: CommandContext, { task, force }: TaskOptions) {
  const { engine, spec, request } = await dockerFor(context, task);
  const container = await findSandbox(engine, spec, context.signal);
  if (!container || !belongsTo(container, spec)) {
    throw new AppError("sandbox-unavailable", `There is no sandbox ${spec.name}.`, {
      hint: "See `hermes sandbox list`.",
    });
  }
  if (!force && container.state === "running" && (await isHeld(engine, container.id, context.signal))) {
    throw new AppError("sandbox-unavailable", `The sandbox ${spec.name} is in use by another process.`, {
      hint: "Wait until it is done, or add --force.",
    });
  }
  return { engine, container, place: spec, keep: keepRules(request.options) };
}

function conclude(
  context: CommandContext,
  { json }: TaskOptions,
  { id, name }: Container,
  end: { readonly outcome: string; readonly reason?: string },
  more: { readonly json: object; readonly words: string } = { json: {}, words: "" },
): void {
  if (end.outcome === "failed") throw new AppError("sandbox-unavailable", `${name}: ${end.reason}`);
  if (json) context.terminal.printJson({ id, name, outcome: end.outcome, ...more.json });
  else context.terminal.note(`${name}: ${end.outcome}.${more.words}`);
}
