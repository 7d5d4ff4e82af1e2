import type { Capability } from "../engine/engine.ts";
import { KEEPER_ARGUMENTS, STOP_SIGNAL } from "../lifecycle/keeper.ts";
import { flagValues } from "./extra-arguments.ts";
import { sandboxLabels } from "./labels.ts";
import type { Mount } from "./mounts.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";
import { serialiseFields } from "./spec-fields.ts";

/** Facts about the engine and the image that change the `create` command. */
export interface CreateFacts {
  /** Options that this engine refuses. */
  readonly missingCapabilities: ReadonlySet<Capability>;
  /** CPUs of the engine's machine; the engine refuses a higher limit. */
  readonly engineCpus: number | undefined;
  /** The image uses the s6 supervisor, which is an init process and runs programs from /run. */
  readonly s6: boolean;
}

export interface CreateCall {
  readonly args: readonly string[];
  /** Added to the client's environment, from which `--env NAME` takes the values. */
  readonly variables: Readonly<Record<string, string>>;
  /** Content of the file that `--env-file` reads. */
  readonly stdin: string;
}

/** Variables that change the behaviour of the client, so they are passed in a file and not in its environment. */
const CLIENT_NAMES =
  /^(DOCKER_.*|BUILDKIT_.*|CONTAINERS?_.*|PODMAN_.*|XDG_.*|SSH_.*|SSL_.*|LD_.*|GO.*|HOME|PATH|TMPDIR|.*_PROXY)$/i;

/** Whether the client itself reads this environment variable. */
export function affectsClient(name: string): boolean {
  return CLIENT_NAMES.test(name);
}

/** Creates the `create` command of a spec. Its arguments contain no value of a variable. */
export function createArguments(
  spec: SandboxSpec,
  name: string,
  creation: string,
  facts: CreateFacts,
): CreateCall {
  const labels = sandboxLabels({ ...spec, fields: serialiseFields(spec.fields) }, creation);
  const optional = optionalFlags(spec, facts);
  const { args: environment, ...values } = environmentOf(spec);
  const args = [
    "create",
    ...["--name", name],
    ...Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
    ...["--entrypoint", "sh", "--stop-signal", STOP_SIGNAL, "--no-healthcheck", ...optional.init],
    ...["--workdir", spec.workingFolder],
    ...securityOf(spec),
    ...optional["no-new-privileges"],
    ...(spec.user === undefined ? [] : ["--user", `${spec.user.uid}:${spec.user.gid}`]),
    ...spec.mounts.filter(isOwnMount).flatMap((mount) => mountFlags(mount, facts)),
    ...RESOURCES.flatMap((capability) => optional[capability]),
    ...spec.mounts.filter((mount) => !isOwnMount(mount)).flatMap((mount) => mountFlags(mount, facts)),
    ...environment,
    ...spec.extraArguments,
    ...[spec.image, ...KEEPER_ARGUMENTS],
  ];
  return { args, ...values };
}

const RESOURCES: readonly Capability[] = ["cpus", "memory", "pids", "shm", "disk"];

/** The flags of a spec that an engine may refuse; empty where the spec sets no limit or the engine lacks it. */
export function optionalFlags(spec: SandboxSpec, facts: CreateFacts): Record<Capability, readonly string[]> {
  const cpus = Math.min(spec.cpus, facts.engineCpus ?? Number.POSITIVE_INFINITY);
  const flagsIf = (capability: Capability, wanted: boolean, ...flags: readonly string[]) =>
    wanted && !facts.missingCapabilities.has(capability) ? flags : [];
  return {
    cpus: flagsIf("cpus", cpus > 0, "--cpus", String(cpus)),
    memory: flagsIf("memory", spec.memoryMb > 0, "--memory", `${spec.memoryMb}m`),
    pids: flagsIf("pids", spec.pids > 0, "--pids-limit", String(spec.pids)),
    shm: flagsIf("shm", spec.shmSize !== "", "--shm-size", spec.shmSize),
    disk: flagsIf("disk", spec.diskMb > 0, "--storage-opt", `size=${spec.diskMb}m`),
    init: flagsIf("init", !facts.s6 && !spec.snapCompat, "--init"),
    "no-new-privileges": flagsIf(
      "no-new-privileges",
      !spec.snapCompat,
      "--security-opt",
      "no-new-privileges",
    ),
  };
}

function securityOf(spec: SandboxSpec): string[] {
  const added = ["DAC_OVERRIDE", "CHOWN", "FOWNER", ...(spec.user === undefined ? ["SETUID", "SETGID"] : [])];
  const hasNetworkFlag = flagValues(spec.extraArguments, "--network", "--net").length > 0;
  return [
    ...["--cap-drop", "ALL"],
    ...added.flatMap((capability) => ["--cap-add", capability]),
    ...(spec.readOnlyRoot ? ["--read-only"] : []),
    ...(spec.runtime === "" ? [] : ["--runtime", spec.runtime]),
    ...(spec.network || hasNetworkFlag ? [] : ["--network", "none"]),
  ];
}

function isOwnMount(mount: Mount): boolean {
  return mount.kind === "tmpfs" || (mount.kind === "bind" && mount.isOurs);
}

function mountFlags(mount: Mount, { s6 }: CreateFacts): string[] {
  if (mount.kind === "tmpfs") {
    const options = s6 && mount.target === "/run" ? mount.options.replace("noexec", "exec") : mount.options;
    return ["--tmpfs", `${mount.target}:${options}`];
  }
  if (mount.options.length > 0) {
    const options = [mount.readOnly ? "ro" : "rw", ...mount.options].join(",");
    return ["--volume", `${mount.source}:${mount.target}:${options}`];
  }
  const pairs = [`type=${mount.kind}`, `source=${mount.source}`, `target=${mount.target}`];
  return ["--mount", [...pairs, ...(mount.readOnly ? ["readonly"] : [])].map(quoteCsv).join(",")];
}

/** The client parses the value of `--mount` as a CSV record. */
function quoteCsv(field: string): string {
  return /[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

function environmentOf({ environment }: SandboxSpec) {
  const entries = Object.entries(environment);
  // An env file has one variable per line, so a value with several lines must go into the client's environment.
  const inFile = entries.filter(([name, value]) => affectsClient(name) && !/[\r\n]/.test(value));
  const byName = entries.filter((entry) => !inFile.includes(entry));
  return {
    args: [
      ...(inFile.length === 0 ? [] : ["--env-file", "/dev/stdin"]),
      ...byName.flatMap(([name]) => ["--env", name]),
    ],
    variables: Object.fromEntries(byName),
    stdin: inFile.map(([name, value]) => `${name}=${value}\n`).join(""),
  };
}
