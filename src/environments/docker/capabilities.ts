import { randomBytes } from "node:crypto";
import type { Reporter } from "../environment-request.ts";
import { type CreateFacts, optionalFlags } from "./create-arguments.ts";
import {
  CAPABILITIES,
  type Capability,
  type Engine,
  type EngineInfo,
  noticeOnce,
  succeeded,
} from "./engine.ts";
import { sandboxLabels } from "./labels.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";
import { serialiseFields } from "./spec-fields.ts";

const PROBE_TIMEOUT_MS = 60_000;

const LOST: Readonly<Record<Capability, string>> = {
  cpus: "terminal.container_cpu is not applied",
  memory: "terminal.container_memory is not applied",
  pids: "terminal.docker_pids_limit is not applied",
  disk: "terminal.container_disk is not applied",
  shm: "terminal.docker_shm_size is not applied",
  init: "The sandbox runs without an init process",
  "no-new-privileges": "The sandbox is weaker than it should be: programs in it may gain privileges",
};

/** Remembers what the engine itself says that it cannot do, and tells it once. */
export function noteInfo(engine: Engine, info: EngineInfo, spec: SandboxSpec, reporter: Reporter): void {
  const { limits, storageDriver, backingFileSystem, rootless } = info;
  if (rootless) {
    noticeOnce(
      engine,
      "The engine runs without root: root in the sandbox is your own user outside of it, and files of its other users get numbers that only `podman unshare` or the sandbox itself can work with.",
      reporter,
    );
  }
  const asked = { cpus: spec.cpus, memory: spec.memoryMb, pids: spec.pids };
  for (const capability of ["cpus", "memory", "pids"] as const) {
    if (limits[capability] === false && asked[capability] > 0) {
      lack(engine, capability, "the engine's machine cannot limit it", reporter);
    }
  }
  // Only this pair can have project quotas, and whether they are switched on shows when it is tried.
  if (spec.diskMb > 0 && !(storageDriver === "overlay2" && backingFileSystem === "xfs")) {
    const place = [storageDriver ?? "its storage", backingFileSystem].filter(Boolean).join(" on ");
    lack(engine, "disk", `${place} cannot limit it`, reporter);
  }
}

/**
 * Finds out, after a sandbox could not be made, which optional flags this engine refuses, by running the real image
 * with each of them alone. Empty when none is to blame.
 */
export async function probeCapabilities(
  engine: Engine,
  spec: SandboxSpec,
  facts: CreateFacts,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<readonly Capability[]> {
  const runs = (flags: readonly string[]) => probe(engine, spec, flags, signal);
  if (!(await runs([]))) return [];
  const flags = optionalFlags(spec, facts);
  const refused: Capability[] = [];
  for (const capability of CAPABILITIES) {
    const own = flags[capability];
    if (own.length === 0 || (await runs(own))) continue;
    refused.push(capability);
    lack(engine, capability, `the engine refuses ${own.join(" ")}`, reporter);
  }
  return refused;
}

function lack(engine: Engine, capability: Capability, reason: string, reporter: Reporter): void {
  engine.memory.lacking.add(capability);
  noticeOnce(engine, `${LOST[capability]}: ${reason}.`, reporter);
}

/** Labelled like a sandbox, so that one which outlives us is reclaimed like one. */
async function probe(
  engine: Engine,
  spec: SandboxSpec,
  flags: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const fields = serialiseFields(spec.fields);
  const labels = sandboxLabels({ ...spec, fields }, randomBytes(8).toString("hex"));
  const args = [
    ...["run", "--rm", "--network", "none", "--entrypoint", "sh"],
    ...Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
    ...(spec.runtime === "" ? [] : ["--runtime", spec.runtime]),
    ...flags,
    ...[spec.image, "-c", ":"],
  ];
  return succeeded(await engine.run(args, { timeoutMs: PROBE_TIMEOUT_MS }, signal));
}
