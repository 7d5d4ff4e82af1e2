import { join, resolve } from "node:path";
import { AppError } from "../../lib/errors.ts";
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
  translate,
} from "./mounts.ts";

export interface HostUser {
  readonly uid: number;
  readonly gid: number;
}

export interface MountSettings {
  readonly docker_volumes: readonly string[];
  readonly docker_extra_args: readonly string[];
  readonly docker_mount_cwd_to_workspace: boolean;
  readonly container_persistent: boolean;
}

/** What is found out while a spec is made from settings. */
export interface SpecFindings {
  /** What a person should know about settings that could not be followed to the letter. */
  readonly notices: string[];
  /** Why no container may be made with the settings; one that exists can be looked after all the same. */
  readonly refusals: AppError[];
}

/** Notes a refusal, and goes on with what stands in its place; anything else that is thrown is a bug. */
export async function orRefuse<Value>(
  refusals: AppError[],
  attempt: () => Value | Promise<Value>,
  instead: Value,
): Promise<Value> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    refusals.push(error);
    return instead;
  }
}

/** Engines add noexec to a tmpfs unless told otherwise; compilers and test runners execute what they build in /tmp. */
const SCRATCH: readonly Mount[] = [
  { kind: "tmpfs", target: "/tmp", options: "rw,exec,nosuid,size=512m" },
  { kind: "tmpfs", target: "/var/tmp", options: "rw,noexec,nosuid,size=256m" },
  { kind: "tmpfs", target: "/run", options: "rw,noexec,nosuid,size=64m" },
];
const PASSING: readonly TmpfsMount[] = [
  { kind: "tmpfs", target: "/workspace", options: "rw,exec,nosuid,size=10g" },
  { kind: "tmpfs", target: "/home", options: "rw,exec,nosuid,size=1g" },
  { kind: "tmpfs", target: "/root", options: "rw,exec,nosuid,size=1g" },
];

/** Ours first, then those of the settings, which replace ours where the target is exactly the same. */
export async function chooseMounts(
  settings: MountSettings,
  host: MountHost,
  folder: string,
  user: HostUser | undefined,
  { notices, refusals }: SpecFindings,
): Promise<{ readonly all: readonly Mount[]; readonly cwdMounted: boolean }> {
  const asked: Mount[] = [];
  for (const text of settings.docker_volumes) {
    const volume = await orRefuse(refusals, () => readVolume(text, notices), undefined);
    if (volume === undefined) continue;
    asked.push(await orRefuse(refusals, () => createMount(volume, host), refusedMount(volume)));
  }
  await orRefuse(refusals, () => requireMountableExtras(settings.docker_extra_args, host), undefined);
  const extraTargets = extraMountTargets(settings.docker_extra_args);
  const targets = new Set(asked.map(({ target }) => target));
  if (targets.size < asked.length) {
    const problem = "Two entries of terminal.docker_volumes have the same target.";
    const hint = "Give each its own path in the container.";
    refusals.push(new AppError("sandbox-mount-refused", problem, { hint }));
  }
  for (const target of extraTargets) targets.add(target);
  const cwdMounted = settings.docker_mount_cwd_to_workspace && !targets.has("/workspace");
  if (cwdMounted) {
    const folderAsked = { source: host.cwd, target: "/workspace", options: [] };
    asked.push(
      await orRefuse(
        refusals,
        () => createBind(host.cwd, "/workspace", false, host),
        refusedMount(folderAsked),
      ),
    );
    targets.add("/workspace");
  }
  const places = settings.container_persistent ? keptFolders(folder, host) : PASSING.map(ownedBy(user));
  const ours = [...SCRATCH, ...places].filter(({ target }) => !targets.has(target));
  return { all: [...ours, ...asked], cwdMounted };
}

/** Otherwise they have the owner and the mode that the folder has in the image, which for /root is root's alone. */
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
    const source = translate(localSource, host.ownMounts);
    return { kind: "bind", source, localSource, target, readOnly: false, options: [], ours: true };
  });
}

/** Stands for a mount that cannot be made, so that a sandbox can be compared with what is asked for. */
function refusedMount({ source, target, options }: ParsedVolume): Mount {
  return { kind: "bind", source, localSource: source, target, readOnly: false, options, ours: false };
}

function readVolume(text: string, notices: string[]): ParsedVolume | undefined {
  const volume = parseVolume(text);
  if (volume !== undefined) return volume;
  if (!text.includes(":")) {
    notices.push(
      `terminal.docker_volumes: ${text} was skipped, because it is not of the form host:container.`,
    );
    return undefined;
  }
  throw new AppError("sandbox-mount-refused", `terminal.docker_volumes: ${text} cannot be understood.`, {
    hint: "Write host:container or host:container:ro, with an absolute path in the container.",
  });
}

/** What is refused as a volume is refused in the extra arguments, too. */
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
  // As the client reads it: one record of CSV, with names in any case.
  const pairs = text.split(",").map((pair) => pair.replaceAll('"', "").trim().split("="));
  return pairs.find(([name]) => name !== undefined && names.includes(name.toLowerCase()))?.[1];
}
