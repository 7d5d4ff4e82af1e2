import { randomBytes } from "node:crypto";
import { AppError } from "../../lib/errors.ts";
import type { ProcessResult } from "../../lib/process.ts";
import type { Reporter } from "../environment-request.ts";
import { type CreateFacts, optionalFlags } from "./create-arguments.ts";
import {
  CAPABILITIES,
  type Capability,
  complaintOf,
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

/** Values that every engine with such a limit takes: where they work, a refusal is about the value of the setting. */
const MODEST: Readonly<
  Partial<Record<Capability, { readonly setting: string; readonly flags: readonly string[] }>>
> = {
  cpus: { setting: "terminal.container_cpu", flags: ["--cpus", "0.5"] },
  memory: { setting: "terminal.container_memory", flags: ["--memory", "64m"] },
  pids: { setting: "terminal.docker_pids_limit", flags: ["--pids-limit", "32"] },
  shm: { setting: "terminal.docker_shm_size", flags: ["--shm-size", "64m"] },
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
    lack(engine, "disk", `${place} cannot limit it to ${spec.diskMb} MB`, reporter);
  }
}

/**
 * Finds out, after a sandbox could not be made, which optional flags this engine refuses, by running the real image
 * with each of them alone. Empty when none is to blame. Throws when the engine has the limit and refuses only the value:
 * a sandbox without the limit is not what the settings ask for.
 */
export async function probeCapabilities(
  engine: Engine,
  spec: SandboxSpec,
  facts: CreateFacts,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<readonly Capability[]> {
  const tryWith = (flags: readonly string[]) => probe(engine, spec, flags, signal);
  if (!succeeded(await tryWith([]))) return [];
  const flags = optionalFlags(spec, facts);
  const refused: Capability[] = [];
  for (const capability of CAPABILITIES) {
    const own = flags[capability];
    if (own.length === 0) continue;
    const tried = await tryWith(own);
    if (succeeded(tried)) continue;
    const modest = MODEST[capability];
    if (modest !== undefined && succeeded(await tryWith(modest.flags))) {
      const [complaint] = complaintOf(tried).split("\n");
      throw new AppError(
        "sandbox-refused",
        `The engine refuses the value of ${modest.setting} (${own.join(" ")}): ${complaint}`,
      );
    }
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
): Promise<ProcessResult> {
  const fields = serialiseFields(spec.fields);
  const labels = sandboxLabels({ ...spec, fields }, randomBytes(8).toString("hex"));
  const args = [
    ...["run", "--rm", "--network", "none", "--entrypoint", "sh"],
    ...Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
    ...(spec.runtime === "" ? [] : ["--runtime", spec.runtime]),
    ...flags,
    ...[spec.image, "-c", ":"],
  ];
  return engine.run(args, { timeoutMs: PROBE_TIMEOUT_MS }, signal);
}
