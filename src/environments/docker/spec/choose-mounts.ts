import { join, resolve } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import type { TerminalOptions } from "../../options.ts";
import { flagValues } from "./extra-arguments.ts";
import {
  createBind,
  createMount,
  type Mount,
  type MountHost,
  normaliseTarget,
  type ParsedVolume,
  parseVolume,
  type TmpfsMount,
  toEnginePath,
} from "./mounts.ts";

export interface HostUser {
  readonly uid: number;
  readonly gid: number;
}

export type MountSettings = Pick<
  TerminalOptions,
  "docker_volumes" | "docker_extra_args" | "docker_mount_cwd_to_workspace" | "container_persistent"
>;

/** Problems that are found while a spec is created from the settings. */
export interface SpecFindings {
  /** Notices for the user about settings that could not be applied exactly. */
  readonly notices: string[];
  /** Why the settings do not allow a new container; an existing one can still be managed. */
  readonly refusals: AppError[];
}

/** Records a refusal and returns the fallback; any error that is not an AppError is a bug. */
export async function collectRefusal<Value>(
  refusals: AppError[],
  attempt: () => Value | Promise<Value>,
  fallback: Value,
): Promise<Value> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    refusals.push(error);
    return fallback;
  }
}

/** /tmp is `exec`, because compilers and test runners execute files there; the default of engines is noexec. */
const SCRATCH: readonly Mount[] = [
  { kind: "tmpfs", target: "/tmp", options: "rw,exec,nosuid,size=512m" },
  { kind: "tmpfs", target: "/var/tmp", options: "rw,noexec,nosuid,size=256m" },
  { kind: "tmpfs", target: "/run", options: "rw,noexec,nosuid,size=64m" },
];
const EPHEMERAL: readonly TmpfsMount[] = [
  { kind: "tmpfs", target: "/workspace", options: "rw,exec,nosuid,size=10g" },
  { kind: "tmpfs", target: "/home", options: "rw,exec,nosuid,size=1g" },
  { kind: "tmpfs", target: "/root", options: "rw,exec,nosuid,size=1g" },
];

/** Our mounts first, then the mounts of the settings, which replace ours where the target is exactly the same. */
export async function chooseMounts(
  settings: MountSettings,
  host: MountHost,
  folder: string,
  user: HostUser | undefined,
  { notices, refusals }: SpecFindings,
): Promise<{ readonly all: readonly Mount[]; readonly cwdMounted: boolean }> {
  const requested: Mount[] = [];
  for (const text of settings.docker_volumes) {
    const volume = await collectRefusal(refusals, () => parseVolumeSetting(text, notices), undefined);
    if (volume === undefined) continue;
    requested.push(await collectRefusal(refusals, () => createMount(volume, host), refusedMount(volume)));
  }
  await collectRefusal(refusals, () => requireMountableExtras(settings.docker_extra_args, host), undefined);
  const extraTargets = extraMountTargets(settings.docker_extra_args);
  const targets = new Set(requested.map(({ target }) => target));
  if (targets.size < requested.length) {
    const problem = "Two entries of terminal.docker_volumes have the same target.";
    const hint = "Give each entry a different path in the container.";
    refusals.push(new AppError("sandbox-mount-refused", problem, { hint }));
  }
  for (const target of extraTargets) targets.add(target);
  const cwdMounted = settings.docker_mount_cwd_to_workspace && !targets.has("/workspace");
  if (cwdMounted) {
    const refused = refusedMount({ source: host.cwd, target: "/workspace", options: [] });
    const mount = () => createBind(host.cwd, "/workspace", false, host);
    requested.push(await collectRefusal<Mount>(refusals, mount, refused));
    targets.add("/workspace");
  }
  const folders = settings.container_persistent ? keptFolders(folder, host) : EPHEMERAL.map(ownedBy(user));
  const ours = [...SCRATCH, ...folders].filter(({ target }) => !targets.has(target));
  return { all: [...ours, ...requested], cwdMounted };
}

/** Without an owner a tmpfs has the owner and mode of the folder in the image, and only root can enter /root. */
function ownedBy(user: HostUser | undefined): (mount: TmpfsMount) => TmpfsMount {
  return (mount) =>
    user === undefined ? mount : { ...mount, options: `${mount.options},uid=${user.uid},gid=${user.gid}` };
}

function keptFolders(folder: string, host: MountHost): Mount[] {
  return [
    { name: "home", target: "/root" },
    { name: "workspace", target: "/workspace" },
  ].map(({ name, target }) => {
    const localSource = join(folder, name);
    const source = toEnginePath(localSource, host.ownMounts);
    return { kind: "bind", source, localSource, target, readOnly: false, options: [], isOurs: true };
  });
}

/** Represents a mount that is refused, so that an existing sandbox can still be compared with the settings. */
function refusedMount({ source, target, options }: ParsedVolume): Mount {
  return { kind: "bind", source, localSource: source, target, readOnly: false, options, isOurs: false };
}

function parseVolumeSetting(text: string, notices: string[]): ParsedVolume | undefined {
  const volume = parseVolume(text);
  if (volume !== undefined) return volume;
  if (!text.includes(":")) {
    notices.push(
      `terminal.docker_volumes: ${text} was skipped, because it is not of the form host:container.`,
    );
    return undefined;
  }
  throw new AppError("sandbox-mount-refused", `terminal.docker_volumes: ${text} is not a valid volume.`, {
    hint: "Write host:container or host:container:ro, with an absolute path in the container.",
  });
}

/** Applies the rules for volumes to the mounts in the extra arguments. */
async function requireMountableExtras(args: readonly string[], host: MountHost): Promise<void> {
  for (const text of flagValues(args, "--volume", "-v")) {
    const volume = parseVolume(text);
    if (volume !== undefined) await createMount(volume, host);
  }
  for (const text of flagValues(args, "--mount")) {
    const source = mountOption(text, "source", "src");
    if (/^[/.]/.test(source ?? "")) await createBind(resolve(host.cwd, source ?? ""), "/", false, host);
  }
}

function extraMountTargets(args: readonly string[]): string[] {
  return [
    ...flagValues(args, "--volume", "-v").map((text) => parseVolume(text)?.target),
    ...flagValues(args, "--mount").map((text) => mountOption(text, "target", "destination", "dst")),
    ...flagValues(args, "--tmpfs").map((text) => text.split(":")[0]),
  ].flatMap((target) => (target === undefined ? [] : [normaliseTarget(target)]));
}

function mountOption(text: string, ...names: readonly string[]): string | undefined {
  // The client parses the value as a CSV record with case-insensitive names.
  const pairs = text.split(",").map((pair) => pair.replaceAll('"', "").trim().split("="));
  return pairs.find(([name]) => name !== undefined && names.includes(name.toLowerCase()))?.[1];
}
