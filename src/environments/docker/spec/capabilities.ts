import { randomBytes } from "node:crypto";
import { AppError } from "../../../lib/errors.ts";
import type { Reporter } from "../../environment-request.ts";
import {
  CAPABILITIES,
  type Capability,
  type Engine,
  type EngineInfo,
  formatFailure,
  noticeOnce,
  succeeded,
} from "../engine/engine.ts";
import { type CreateFacts, optionalFlags } from "./create-arguments.ts";
import { sandboxLabels } from "./labels.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";
import { serialiseFields } from "./spec-fields.ts";

const PROBE_TIMEOUT_MS = 60_000;

const CONSEQUENCES: Readonly<Record<Capability, string>> = {
  cpus: "terminal.container_cpu is not applied",
  memory: "terminal.container_memory is not applied",
  pids: "terminal.docker_pids_limit is not applied",
  disk: "terminal.container_disk is not applied",
  shm: "terminal.docker_shm_size is not applied",
  init: "The sandbox runs without an init process",
  "no-new-privileges": "The sandbox is weaker than it should be: programs in it may gain privileges",
};

/** Values that every engine with the limit accepts; if they work, the engine refuses only the value of the setting. */
const SAFE_VALUES: Readonly<
  Partial<Record<Capability, { readonly setting: string; readonly flags: readonly string[] }>>
> = {
  cpus: { setting: "terminal.container_cpu", flags: ["--cpus", "0.5"] },
  memory: { setting: "terminal.container_memory", flags: ["--memory", "64m"] },
  pids: { setting: "terminal.docker_pids_limit", flags: ["--pids-limit", "32"] },
  shm: { setting: "terminal.docker_shm_size", flags: ["--shm-size", "64m"] },
};

/** Records the capabilities that the engine lacks according to its `info`, and prints each notice once. */
export function recordUnsupported(
  engine: Engine,
  info: EngineInfo,
  spec: SandboxSpec,
  reporter: Reporter,
): void {
  const { limits, storageDriver, backingFileSystem, rootless } = info;
  if (rootless) {
    noticeOnce(
      engine,
      "The engine is rootless: root in the sandbox is your own user on the host. Files of other users in the sandbox get user ids that only `podman unshare` or the sandbox itself can access.",
      reporter,
    );
  }
  if (info.cpus !== undefined && spec.cpus > info.cpus && limits.cpus !== false) {
    const problem = `terminal.container_cpu is ${spec.cpus}, but the engine's machine has only ${info.cpus} CPUs`;
    noticeOnce(engine, `${problem}: the sandbox gets ${info.cpus}.`, reporter);
  }
  const wanted = { cpus: spec.cpus, memory: spec.memoryMb, pids: spec.pids };
  for (const capability of ["cpus", "memory", "pids"] as const) {
    if (limits[capability] === false && wanted[capability] > 0) {
      recordLack(engine, capability, "the engine's machine does not support it", reporter);
    }
  }
  // Only this combination supports project quotas; only an attempt shows whether they are enabled.
  if (spec.diskMb > 0 && !(storageDriver === "overlay2" && backingFileSystem === "xfs")) {
    const storage = [storageDriver ?? "its storage", backingFileSystem].filter(Boolean).join(" on ");
    recordLack(engine, "disk", `${storage} cannot limit it to ${spec.diskMb} MB`, reporter);
  }
}

/**
 * Finds the optional flags that this engine refuses, after it could not create a sandbox: runs the image once with each
 * flag alone. Returns none when no flag is the cause. Throws when the engine supports a limit and refuses only its
 * value, because a sandbox without that limit would not match the settings.
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
    const wanted = flags[capability];
    if (wanted.length === 0) continue;
    const result = await tryWith(wanted);
    if (succeeded(result)) continue;
    const safe = SAFE_VALUES[capability];
    if (safe !== undefined && succeeded(await tryWith(safe.flags))) {
      const [complaint] = formatFailure(result).split("\n");
      throw new AppError(
        "sandbox-refused",
        `The engine refuses the value of ${safe.setting} (${wanted.join(" ")}): ${complaint}`,
      );
    }
    refused.push(capability);
    recordLack(engine, capability, `the engine refuses ${wanted.join(" ")}`, reporter);
  }
  return refused;
}

function recordLack(engine: Engine, capability: Capability, reason: string, reporter: Reporter): void {
  engine.cache.missingCapabilities.add(capability);
  noticeOnce(engine, `${CONSEQUENCES[capability]}: ${reason}.`, reporter);
}

/** The probe has the labels of a sandbox, so that gc reclaims it if our process is killed. */
async function probe(engine: Engine, spec: SandboxSpec, flags: readonly string[], signal: AbortSignal) {
  const fields = serialiseFields(spec.fields);
  const labels = sandboxLabels({ ...spec, fields }, randomBytes(8).toString("hex"));
  const args = [
    ...["run", "--rm", "--network", "none", "--entrypoint", "sh"],
    ...Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
    ...(spec.runtime === "" ? [] : ["--runtime", spec.runtime]),
    ...flags,
    ...[spec.image, "-c", ":"],
  ];
  return engine.run(args, PROBE_TIMEOUT_MS, signal);
}
