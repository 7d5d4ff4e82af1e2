import { findChosenSandbox } from "../../../environments/docker/find-sandbox.ts";
import { describeIsolation, readIsolation } from "../../../environments/docker/isolation.ts";
import { listSandboxes, type SandboxRow } from "../../../environments/docker/list-sandboxes.ts";
import { describeDocker } from "../../../environments/docker/prepare-docker.ts";
import { sandboxKey } from "../../../environments/docker/sandbox-names.ts";
import type { SandboxSpec } from "../../../environments/docker/sandbox-spec.ts";
import { hasOperations, listOperations } from "../../../environments/docker/snapshots/operation.ts";
import { describeDrift } from "../../../environments/docker/spec-fields.ts";
import { keepRules, showMoment } from "../../../environments/docker/stopped-sandbox.ts";
import { lookUpJobsOf, showJob } from "../../../environments/jobs/seen-job.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { showBytes } from "../../show-bytes.ts";
import { renderTable } from "../../table.ts";
import { listKnownProfiles } from "./known-profiles.ts";
import { type DockerDesk, dockerFor } from "./place.ts";

interface TaskOption {
  readonly task: string;
  readonly json?: boolean;
}

interface ChosenOption extends TaskOption {
  /** A sandbox by its name or id, instead of the task's. */
  readonly chosen: string | undefined;
}

export async function listAll(
  context: CommandContext,
  { allProfiles, size, json }: { allProfiles?: boolean; size?: boolean; json?: boolean },
): Promise<void> {
  const rows = await sandboxes(context, await dockerFor(context, "default"), {
    allProfiles: allProfiles ?? false,
    withSize: (size ?? false) || (json ?? false),
  });
  if (json) return context.terminal.printJson(rows);
  if (rows.length === 0) return context.terminal.print("There are no sandboxes.");
  const cells = rows.map((row) => [
    row.name,
    row.state,
    isUsed(row) ? "in use" : "",
    row.task,
    row.image,
    row.profile,
    row.kept_until === null ? "" : showMoment(Date.parse(row.kept_until)),
    ...(size ? [sizeCell(row)] : []),
  ]);
  const header = ["NAME", "STATE", "", "TASK", "IMAGE", "PROFILE", "KEPT UNTIL", ...(size ? ["SIZE"] : [])];
  context.terminal.print(renderTable(header, cells, context.terminal));
}

function isUsed({ leased, jobs }: SandboxRow): boolean {
  return leased || jobs.length > 0;
}

/** The container's own files, and those that we keep for it on the host. */
function sizeCell({ size_bytes, files_bytes }: SandboxRow): string {
  if (size_bytes === null && files_bytes === null) return "unknown";
  return showBytes((size_bytes ?? 0) + (files_bytes ?? 0));
}

export async function showStatus(
  context: CommandContext,
  { task, chosen, json }: ChosenOption,
): Promise<void> {
  const docker = await dockerFor(context, task);
  const { engine, spec } = docker;
  const found = await findChosenSandbox(engine, spec, chosen, context.signal);
  const rows = await sandboxes(context, docker, { allProfiles: false, withSize: json ?? false });
  const row = rows.find(({ id }) => id === found?.id);
  const under_way = await underWay(spec, context.signal);
  if (json) {
    return context.terminal.printJson({ ...(row ?? { name: spec.name, state: "absent", task }), under_way });
  }
  for (const { kind, by } of under_way) context.terminal.print(`under way  ${kind}: ${by}`);
  if (!row) {
    const what =
      under_way.length === 0 ? "does not exist yet; the first command makes it" : "is not there now";
    return context.terminal.print(`${spec.name} ${what}.`);
  }
  const lines: (readonly [string, string])[] = [
    ["name", row.name],
    ["id", row.id.slice(0, 12)],
    ["state", row.state],
    ["in use", isUsed(row) ? "yes" : "no"],
    ...(row.jobs.length === 0 ? [] : ([["jobs", row.jobs.map(showJob).join(", ")]] as const)),
    ["last used", row.last_used_at ?? "unknown"],
    ...(row.kept_until === null
      ? []
      : ([["kept until", `${showMoment(Date.parse(row.kept_until))}, unless it is started`]] as const)),
    ["image", row.image],
    ["drift", row.drift.length === 0 ? "none: it matches the settings" : describeDrift(row.drift)],
  ];
  for (const [label, value] of lines) context.terminal.print(`${label.padEnd(11)}${value}`);
}

/** What is being done to the sandbox; what a dead process left was recovered before. */
async function underWay(spec: SandboxSpec, signal: AbortSignal) {
  if (!(await hasOperations(spec))) return [];
  const key = sandboxKey(spec.profileId, spec.task);
  return (await listOperations(spec, Date.now(), signal)).flatMap(({ record, busy }) =>
    record?.key === key
      ? [{ kind: record.kind, by: busy ?? "it was interrupted and is not yet recovered" }]
      : [],
  );
}

export async function explainSandbox(
  context: CommandContext,
  { task, chosen, json }: ChosenOption,
): Promise<void> {
  const { engine, spec } = await dockerFor(context, task);
  const container = await findChosenSandbox(engine, spec, chosen, context.signal);
  if (!container) {
    throw new AppError("sandbox-unavailable", `The sandbox ${spec.name} does not exist yet.`, {
      hint: "Make it with `hermes sandbox exec -- true`; what it really is can only be read off the thing itself.",
    });
  }
  const isolation = await readIsolation(engine, container, context.signal);
  if (json) return context.terminal.printJson({ name: container.name, id: container.id, ...isolation });
  if (!isolation.seenFromInside) {
    context.terminal.note(
      "hermes: it does not run, so this is what the engine says; the kernel was not asked.",
    );
  }
  for (const line of describeIsolation(isolation)) context.terminal.print(line);
}

async function sandboxes(
  context: CommandContext,
  { engine, request, refusals }: DockerDesk,
  { allProfiles, withSize }: { allProfiles: boolean; withSize: boolean },
): Promise<SandboxRow[]> {
  for (const { message } of refusals)
    request.reporter.onNotice(`No sandbox can be made with the settings: ${message}`);
  const known = await listKnownProfiles(context, request.profile.root);
  const profile = { name: request.profile.name, id: await request.profileId() };
  const reporter = { onNotice: () => undefined, onProgress: () => undefined }; // told when the sandbox is used
  // Only our own settings are known here, so only our own sandboxes can have drifted from them.
  const specOf = async (task: string, owner: string) =>
    owner === profile.id
      ? (await describeDocker({ ...request, task, reporter }, context.signal)).spec
      : undefined;
  return listSandboxes(
    engine,
    {
      profile: allProfiles ? undefined : profile,
      places: known,
      keep: keepRules(request.options),
      withSize,
      lookUpJobs: lookUpJobsOf(request.profile.home),
      specOf,
    },
    context.signal,
  );
}
