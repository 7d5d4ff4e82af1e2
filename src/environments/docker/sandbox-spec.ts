import { join } from "node:path";
import type { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import type { terminalOptions } from "../options.ts";
import { passedVariables } from "../passed-variables.ts";
import { chooseMounts, type HostUser, orRefuse, type SpecFindings } from "./choose-mounts.ts";
import { flagValues, requireHarmless } from "./extra-arguments.ts";
import type { Mount, MountHost } from "./mounts.ts";
import { containerName, sandboxKey, uniqueName } from "./sandbox-names.ts";
import { fingerprintOf, type SpecFields } from "./spec-fields.ts";
import { chooseWorkingFolder } from "./working-folder.ts";

export type TerminalOptions = z.infer<typeof terminalOptions>;

export interface SandboxIdentity {
  readonly profile: string;
  /** Random, survives renaming, new after a clone. */
  readonly profileId: string;
  readonly task: string;
}

/** What a spec takes from the machine that asks for the sandbox. */
export interface SandboxHost extends MountHost {
  /** `sandboxes/` in the home, unless the settings name another folder. */
  readonly sandboxesFolder: string;
  /** The same folder by a path that outlives renaming the profile, for mounts; left out where there is only one. */
  readonly stableFolder?: string;
  /** Undefined where the system has no numeric users. */
  readonly user: HostUser | undefined;
  /** The value of a variable to forward: the environment's, else that of the profile's `.env`. */
  findValue(name: string): string | undefined;
}

/** Everything that a sandbox is made from; it never changes once it is made. */
export interface SandboxSpec extends SandboxIdentity {
  /** In persist mode the same for every process that asks for this pair, else this process's alone. */
  readonly name: string;
  readonly persistAcrossProcesses: boolean;
  /** Where its files and the record of it lie. */
  readonly sandboxesFolder: string;
  readonly image: string;
  readonly workingFolder: string;
  readonly user: HostUser | undefined;
  readonly network: boolean;
  readonly cpus: number;
  readonly memoryMb: number;
  readonly diskMb: number;
  readonly pids: number;
  /** Empty leaves the engine's own. */
  readonly shmSize: string;
  readonly runtime: string;
  readonly readOnlyRoot: boolean;
  readonly snapCompat: boolean;
  readonly mounts: readonly Mount[];
  /** Literal variables of the container; values stay out of argv. */
  readonly environment: Readonly<Record<string, string>>;
  /** Handed to each command by the channel; no part of the container ever holds them. */
  readonly forwardedVariables: ReadonlyMap<string, string>;
  readonly extraArguments: readonly string[];
  readonly onDrift: TerminalOptions["docker_on_drift"];
  readonly pullTimeoutMs: number;
  readonly fields: SpecFields;
  readonly fingerprint: string;
  /** The snapshot or fork whose files it begins with; undefined for one that begins with the image of the settings. */
  readonly origin?: string;
  /** The identity of the one process that may use it, as text; undefined where all processes share it. */
  readonly owner?: string;
}

export interface CreatedSpec extends SpecFindings {
  /** No container may be made from it when there are refusals. */
  readonly spec: SandboxSpec;
}

/** The spec that the settings ask for, and what speaks against it when it would be unsafe or cannot be made. */
export async function createSandboxSpec(
  options: TerminalOptions,
  identity: SandboxIdentity,
  host: SandboxHost,
): Promise<CreatedSpec> {
  const notices: string[] = [];
  const refusals: AppError[] = [];
  const allowed = { network: options.docker_network, engineSocket: options.docker_allow_engine_socket };
  await orRefuse(refusals, () => requireHarmless(options.docker_extra_args, allowed), undefined);
  const key = sandboxKey(identity.profileId, identity.task);
  const user = chooseUser(options, host, notices);
  const folder = join(host.stableFolder ?? host.sandboxesFolder, "docker", key);
  const mounts = await chooseMounts(options, host, folder, user, { notices, refusals });
  const name = containerName(key);
  const ownShm = flagValues(options.docker_extra_args, "--shm-size").length > 0;
  const parts = {
    image: options.docker_image,
    workingFolder: chooseWorkingFolder(options.cwd, mounts.cwdMounted ? "/workspace" : "/root", notices),
    user,
    network: options.docker_network,
    cpus: options.container_cpu,
    memoryMb: options.container_memory,
    diskMb: options.container_disk,
    pids: options.docker_pids_limit,
    shmSize: ownShm || /^0*$/.test(options.docker_shm_size) ? "" : options.docker_shm_size,
    runtime: options.docker_runtime,
    readOnlyRoot: options.docker_read_only,
    snapCompat: options.docker_snap_compat,
    mounts: mounts.all,
    environment: await orRefuse(
      refusals,
      () => chooseEnvironment(options.docker_env, user !== undefined),
      {},
    ),
    forwardedVariables: forwardedVariables(options, host),
    extraArguments: options.docker_extra_args,
  };
  const fields = comparableFields(parts);
  const spec: SandboxSpec = {
    ...identity,
    ...parts,
    name: options.docker_persist_across_processes ? name : uniqueName(name),
    persistAcrossProcesses: options.docker_persist_across_processes,
    sandboxesFolder: host.sandboxesFolder,
    onDrift: options.docker_on_drift,
    pullTimeoutMs: options.docker_pull_timeout_seconds * 1_000,
    fields,
    fingerprint: fingerprintOf(fields),
  };
  return { spec, notices, refusals };
}

type SpecParts = Omit<
  SandboxSpec,
  | keyof SandboxIdentity
  | "name"
  | "persistAcrossProcesses"
  | "sandboxesFolder"
  | "onDrift"
  | "pullTimeoutMs"
  | "fields"
  | "fingerprint"
  | "origin"
  | "owner"
>;

/** Forwarded variables are no part of it: they come with each command, so changing them changes no container. */
function comparableFields(parts: SpecParts): SpecFields {
  return {
    docker_image: parts.image,
    cwd: parts.workingFolder,
    user: parts.user === undefined ? "of the image" : `${parts.user.uid}:${parts.user.gid}`,
    docker_network: parts.network,
    container_cpu: parts.cpus,
    container_memory: parts.memoryMb,
    container_disk: parts.diskMb,
    docker_pids_limit: parts.pids,
    docker_shm_size: parts.shmSize,
    docker_runtime: parts.runtime,
    docker_read_only: parts.readOnlyRoot,
    docker_snap_compat: parts.snapCompat,
    mounts: parts.mounts.map(showMount).toSorted(),
    docker_env: Object.keys(parts.environment).toSorted(),
    docker_extra_args: parts.extraArguments,
  };
}

function showMount(mount: Mount): string {
  if (mount.kind === "tmpfs") return `${mount.target} in memory (${mount.options})`;
  const options = [...(mount.readOnly ? ["ro"] : []), ...mount.options];
  return [mount.source, mount.target, ...(options.length === 0 ? [] : [options.join(",")])].join(":");
}

function chooseUser(options: TerminalOptions, host: SandboxHost, notices: string[]): SandboxSpec["user"] {
  if (!options.docker_run_as_host_user) return undefined;
  if (host.user === undefined) {
    notices.push("terminal.docker_run_as_host_user has no effect: this system has no numeric user ids.");
  }
  return host.user;
}

function chooseEnvironment(
  literals: TerminalOptions["docker_env"],
  asHostUser: boolean,
): Readonly<Record<string, string>> {
  // A user without an entry in the image's passwd file would have `/` for a home, where nothing can be written.
  const home = asHostUser ? { HOME: "/root" } : {};
  const texts = Object.entries(literals).map(([name, value]) => [name, String(value)] as const);
  const broken = texts.find(([, value]) => value.includes("\0"));
  if (broken !== undefined) {
    throw new AppError("sandbox-refused", `terminal.docker_env.${broken[0]} holds a null byte.`);
  }
  return { ...home, ...Object.fromEntries(texts) };
}

/** Those of `env_passthrough`, which never are a provider's, and those that are named for the container itself. */
function forwardedVariables(options: TerminalOptions, host: SandboxHost): ReadonlyMap<string, string> {
  const passed = passedVariables(options.env_passthrough, host.findValue);
  const named = options.docker_forward_env.flatMap((name) => {
    const value = host.findValue(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return new Map([...Object.entries(passed), ...named]);
}
