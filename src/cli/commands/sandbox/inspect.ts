import { listSandboxesOf } from "../../../app/environments/list-app-sandboxes.ts";
import { inspectLocalSandbox, type LocalSandboxReport } from "../../../app/environments/local-sandbox.ts";
import { describeIsolation, readIsolation } from "../../../environments/docker/isolation/isolation.ts";
import { findChosenSandbox } from "../../../environments/docker/lifecycle/find-sandbox.ts";
import type { SandboxRow } from "../../../environments/docker/lifecycle/list-sandboxes.ts";
import { formatHolders } from "../../../environments/docker/lifecycle/sandbox-holders.ts";
import { formatMinute } from "../../../environments/docker/reclaim/keep-rules.ts";
import { hasOperations, listOperations } from "../../../environments/docker/recovery/operation.ts";
import { sandboxKey } from "../../../environments/docker/spec/sandbox-names.ts";
import type { SandboxSpec } from "../../../environments/docker/spec/sandbox-spec.ts";
import { describeDrift } from "../../../environments/docker/spec/spec-fields.ts";
import { taskFlag } from "../../../environments/environment-request.ts";
import { formatJob } from "../../../environments/jobs/job-command.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { formatBytes } from "../../terminal/format-bytes.ts";
import { printFields, renderTable } from "../../terminal/table.ts";
import {
  type ChosenOptions,
  createSandboxRequest,
  type DockerContext,
  openDockerContext,
} from "./sandbox-context.ts";

export async function listSandboxRows(
  context: CommandContext,
  { allProfiles = false, size = false, json = false }: JsonOption & { allProfiles?: boolean; size?: boolean },
): Promise<void> {
  const rows = await sandboxes(context, await openDockerContext(context, "default"), {
    allProfiles,
    withSize: size || json,
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
    row.kept_until === null ? "" : formatMinute(Date.parse(row.kept_until)),
    ...(size ? [sizeCell(row)] : []),
  ]);
  const header = ["NAME", "STATE", "", "TASK", "IMAGE", "PROFILE", "KEPT UNTIL", ...(size ? ["SIZE"] : [])];
  context.terminal.print(renderTable(header, cells, context.terminal));
}

function isUsed({ leased, jobs }: SandboxRow): boolean {
  return leased || jobs.length > 0;
}

function describeUse(row: SandboxRow): string {
  if (row.leased) return formatHolders(row.held_by);
  return isUsed(row) ? "yes" : "no";
}

/** The size of the files in the container and of those kept for it on the host. */
function sizeCell({ size_bytes, files_bytes }: SandboxRow): string {
  if (size_bytes === null && files_bytes === null) return "unknown";
  return formatBytes((size_bytes ?? 0) + (files_bytes ?? 0));
}

export async function showStatus(
  context: CommandContext,
  { task, chosenSandbox, json }: ChosenOptions,
): Promise<void> {
  const docker = await openDockerContext(context, task);
  const { engine, spec } = docker;
  const found = await findChosenSandbox(engine, spec, chosenSandbox, context.signal);
  const rows = await sandboxes(context, docker, { allProfiles: false, withSize: json ?? false });
  const row = rows.find(({ id }) => id === found?.id);
  const under_way = await listOperationsOf(spec, context.signal);
  if (json) {
    return context.terminal.printJson({ ...(row ?? { name: spec.name, state: "absent", task }), under_way });
  }
  for (const { kind, by } of under_way) context.terminal.print(`under way  ${kind}: ${by}`);
  if (!row) {
    const what =
      under_way.length === 0 ? "does not exist yet; the first command creates it" : "does not exist now";
    return context.terminal.print(`${spec.name} ${what}.`);
  }
  const kept =
    row.kept_until === null ? "" : `${formatMinute(Date.parse(row.kept_until))}, unless it is started`;
  printFields(context.terminal, [
    ["name", row.name],
    ["id", row.id.slice(0, 12)],
    ["state", row.state],
    ["in use", describeUse(row)],
    ["jobs", row.jobs.map(formatJob).join(", ")],
    ["last used", row.last_used_at ?? "unknown"],
    ["kept until", kept],
    ["image", row.image],
    ["drift", row.drift.length === 0 ? "none; it matches the settings" : describeDrift(row.drift)],
  ]);
}

/** Lists the operations in progress on the sandbox. Operations of exited processes were already recovered. */
async function listOperationsOf(spec: SandboxSpec, signal: AbortSignal) {
  if (!(await hasOperations(spec))) return [];
  const key = sandboxKey(spec.profileId, spec.task);
  return (await listOperations(spec, Date.now(), signal)).flatMap(({ record, busyReason }) =>
    record?.key === key ? [{ kind: record.kind, by: busyReason ?? "interrupted, not recovered yet" }] : [],
  );
}

export async function explainSandbox(
  context: CommandContext,
  { task, chosenSandbox, json }: ChosenOptions,
): Promise<void> {
  const { app, request } = await createSandboxRequest(context, task);
  const { backend, local_sandbox: mode } = request.options;
  if (backend === "local" && mode !== "off") {
    const report = await inspectLocalSandbox(app, { cwd: request.cwd, mode }, context.signal);
    if (json) return context.terminal.printJson(report);
    return printLocalSandbox(context, report);
  }
  const { engine, spec } = await openDockerContext(context, task);
  const container = await findChosenSandbox(engine, spec, chosenSandbox, context.signal);
  if (!container) {
    throw new AppError("sandbox-unavailable", `The sandbox ${spec.name} does not exist yet.`, {
      hint: `Create it with \`hermes sandbox exec${taskFlag(task)} -- true\`; only an existing sandbox can be inspected.`,
    });
  }
  const isolation = await readIsolation(engine, container, context.signal);
  if (json) return context.terminal.printJson({ name: container.name, id: container.id, ...isolation });
  if (!isolation.seenFromInside) {
    context.terminal.note(
      "hermes: the sandbox is not running, so this is what the engine reports; the kernel was not checked.",
    );
  }
  for (const line of describeIsolation(isolation)) context.terminal.print(line);
}

function printLocalSandbox({ terminal }: CommandContext, report: LocalSandboxReport): void {
  const list = (paths: readonly string[]): string => paths.join(", ") || "none";
  printFields(terminal, [
    ["mode", report.mode],
    ["possible", report.problem === null ? "yes" : `no: ${report.problem.message} ${report.problem.hint}`],
    ["network", report.has_network ? "yes, with all services of this machine that listen on it" : "none"],
    ["can write", `${list(report.writable)}, and temporary folders of its own`],
    ["but not", list(report.protected)],
    ["cannot open", list(report.hidden)],
    ["processes", "sees and signals only its own; no capabilities, no new privileges"],
  ]);
}

async function sandboxes(
  context: CommandContext,
  docker: DockerContext,
  options: { readonly allProfiles: boolean; readonly withSize: boolean },
): Promise<SandboxRow[]> {
  for (const { message } of docker.refusals)
    docker.request.reporter.onNotice(`No sandbox can be created with these settings: ${message}`);
  return await listSandboxesOf(docker, context.choice, options, context.signal);
}
