import { join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import type { TerminalOptions } from "../../options.ts";
import { selectPassedVariables } from "../../passed-variables.ts";
import { chooseMounts, collectRefusal, type HostUser, type SpecFindings } from "./choose-mounts.ts";
import { flagValues, requireSafeArguments } from "./extra-arguments.ts";
import type { Mount, MountHost } from "./mounts.ts";
import { containerName, sandboxKey, uniqueName } from "./sandbox-names.ts";
import { fingerprintOf, type SpecFields } from "./spec-fields.ts";
import { chooseWorkingFolder } from "./working-folder.ts";

export interface SandboxIdentity {
  readonly profile: string;
  readonly profileId: string;
  readonly task: string;
}

/** Facts about the machine of our process that a spec depends on. */
export interface SandboxHost extends MountHost {
  /** `sandboxes/` in the home, or the folder from the settings. */
  readonly sandboxesFolder: string;
  /** A path to the same folder that stays valid when the profile is renamed, for mounts. */
  readonly stableFolder?: string;
  /** Undefined where the system has no numeric users. */
  readonly user: HostUser | undefined;
  /** Finds the value of a variable to forward: in the environment, then in the profile's `.env`. */
  findValue(name: string): string | undefined;
}

/** The part of a spec that the container is created with. */
interface SandboxParts {
  readonly image: string;
  readonly workingFolder: string;
  readonly user: HostUser | undefined;
  readonly network: boolean;
  readonly cpus: number;
  readonly memoryMb: number;
  readonly diskMb: number;
  readonly pids: number;
  /** Empty means the engine's default. */
  readonly shmSize: string;
  readonly runtime: string;
  readonly readOnlyRoot: boolean;
  readonly snapCompat: boolean;
  readonly mounts: readonly Mount[];
  /** Literal variables of the container; their values never appear in argv. */
  readonly environment: Readonly<Record<string, string>>;
  /** Variables that the channel passes to each command; the container itself does not contain them. */
  readonly forwardedVariables: ReadonlyMap<string, string>;
  readonly extraArguments: readonly string[];
}

/** The complete, immutable description that a sandbox is created from. */
export interface SandboxSpec extends SandboxIdentity, SandboxParts {
  /** In persist mode the same for every process with this profile and task, otherwise unique. */
  readonly name: string;
  readonly persistAcrossProcesses: boolean;
  /** The folder that holds the files and the record of the sandbox. */
  readonly sandboxesFolder: string;
  readonly onDrift: TerminalOptions["docker_on_drift"];
  readonly pullTimeoutMs: number;
  readonly fields: SpecFields;
  readonly fingerprint: string;
  /** The snapshot or fork that the sandbox starts from; undefined when it starts from the image in the settings. */
  readonly origin?: string;
  /** Why the settings do not allow a new sandbox; an existing one can still be used. */
  readonly refusal?: AppError;
  /** Serialised identity of the only process that may use the sandbox; undefined when processes share it. */
  readonly owner?: string;
}

/**
 * Creates the spec from the settings. If there are refusals, the sandbox would be unsafe or impossible, and the spec must
 * not be used to create a container.
 */
export async function createSandboxSpec(
  options: TerminalOptions,
  identity: SandboxIdentity,
  host: SandboxHost,
): Promise<SpecFindings & { readonly spec: SandboxSpec }> {
  const notices: string[] = [];
  const refusals: AppError[] = [];
  const allowed = { network: options.docker_network, engineSocket: options.docker_allow_engine_socket };
  await collectRefusal(refusals, () => requireSafeArguments(options.docker_extra_args, allowed), undefined);
  const key = sandboxKey(identity.profileId, identity.task);
  const user = chooseUser(options, host, notices);
  const folder = join(host.stableFolder ?? host.sandboxesFolder, "docker", key);
  const mounts = await chooseMounts(options, host, folder, user, { notices, refusals });
  const name = containerName(key);
  const hasShmFlag = flagValues(options.docker_extra_args, "--shm-size").length > 0;
  const parts: SandboxParts = {
    image: options.docker_image,
    workingFolder: chooseWorkingFolder(options.cwd, mounts.cwdMounted ? "/workspace" : "/root", notices),
    user,
    network: options.docker_network,
    cpus: options.container_cpu,
    memoryMb: options.container_memory,
    diskMb: options.container_disk,
    pids: options.docker_pids_limit,
    shmSize: hasShmFlag || /^0*$/.test(options.docker_shm_size) ? "" : options.docker_shm_size,
    runtime: options.docker_runtime,
    readOnlyRoot: options.docker_read_only,
    snapCompat: options.docker_snap_compat,
    mounts: mounts.all,
    environment: await collectRefusal(
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

/** Excludes the forwarded variables: they are passed with each command, so changing them causes no drift. */
function comparableFields(parts: SandboxParts): SpecFields {
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

function chooseEnvironment(literals: TerminalOptions["docker_env"], asHostUser: boolean) {
  // A user without an entry in the image's passwd file would get `/` as home, which is not writable.
  const home = asHostUser ? { HOME: "/root" } : {};
  const texts = Object.entries(literals).map(([name, value]) => [name, String(value)] as const);
  const invalid = texts.find(([, value]) => value.includes("\0"));
  if (invalid !== undefined) {
    throw new AppError("sandbox-refused", `terminal.docker_env.${invalid[0]} contains a null byte.`);
  }
  return { ...home, ...Object.fromEntries(texts) };
}

/** The variables of `env_passthrough`, which excludes those of providers, and those of `docker_forward_env`. */
function forwardedVariables(options: TerminalOptions, host: SandboxHost): ReadonlyMap<string, string> {
  const passed = selectPassedVariables(options.env_passthrough, host.findValue);
  const named = options.docker_forward_env.flatMap((name) => {
    const value = host.findValue(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return new Map([...Object.entries(passed), ...named]);
}
