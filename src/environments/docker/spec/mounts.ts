import { realpath, stat } from "node:fs/promises";
import { isAbsolute, join, posix, relative, resolve } from "node:path";
import { AppError, errnoOf } from "../../../lib/errors.ts";
import { isEngineSocket } from "../engine/socket-paths.ts";

export const ALLOW_SOCKET_HINT =
  "Remove it, or set terminal.docker_allow_engine_socket to true if commands may control this machine.";

/** A mount of a sandbox. */
export type Mount =
  | {
      readonly kind: "bind";
      /** Path on the engine's machine. */
      readonly source: string;
      /** Path for our process; differs from `source` when Hermes itself runs in a container. */
      readonly localSource: string;
      readonly target: string;
      readonly readOnly: boolean;
      /** Options other than ro and rw, which only `--volume` supports (`z`, `rslave`…). */
      readonly options: readonly string[];
      /** Whether Hermes created the folder and may write temporary files to it. */
      readonly isOurs: boolean;
    }
  | {
      readonly kind: "volume";
      readonly source: string;
      readonly target: string;
      readonly readOnly: boolean;
      readonly options: readonly string[];
    }
  | { readonly kind: "tmpfs"; readonly target: string; readonly options: string };

export type BindMount = Extract<Mount, { kind: "bind" }>;
export type TmpfsMount = Extract<Mount, { kind: "tmpfs" }>;

/** A mount of the container that Hermes itself runs in. */
export interface OwnMount {
  readonly source: string;
  readonly destination: string;
}

/** The facts that decide whether a path of the host may be mounted, and its path on the engine's machine. */
export interface MountHost {
  readonly userHome: string;
  /** Folders with the settings, secrets and databases of Hermes. */
  readonly stateFolders: readonly string[];
  /** Sockets of container engines, which must not be mounted; undefined where the settings allow them. */
  readonly engineSockets: readonly string[] | undefined;
  readonly cwd: string;
  /** The engine runs on another machine, whose files we cannot check. */
  readonly remoteEngine: boolean;
  /** Undefined when Hermes does not run in a container of this engine. */
  readonly ownMounts: readonly OwnMount[] | undefined;
}

/** Normalises a target, so that `/workspace/` equals `/workspace`. */
export function normaliseTarget(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 ? normal.replace(/\/$/, "") : normal;
}

export interface ParsedVolume {
  readonly source: string;
  readonly target: string;
  readonly options: readonly string[];
}

/** Parses `source:target[:options]`; undefined for any other form. */
export function parseVolume(text: string): ParsedVolume | undefined {
  const [source = "", target = "", options = "", ...rest] = text.split(":");
  if (source === "" || !target.startsWith("/") || rest.length > 0) return undefined;
  const words = options.split(",").filter((word) => word !== "");
  return { source, target: normaliseTarget(target), options: words };
}

/** Creates the mount of a volume from the settings; throws when it is not allowed or not possible. */
export async function createMount(
  { source, target, options }: ParsedVolume,
  host: MountHost,
): Promise<Mount> {
  const readOnly = options.includes("ro");
  const others = options.filter((option) => option !== "ro" && option !== "rw");
  if (!/^[/~.]/.test(source)) return { kind: "volume", source, target, readOnly, options: others };
  const path = resolve(host.cwd, source.replace(/^~(?=$|\/)/, host.userHome));
  return { ...(await createBind(path, target, readOnly, host)), options: others };
}

/** Creates the mount of a folder or file of the host from its absolute path. */
export async function createBind(
  path: string,
  target: string,
  readOnly: boolean,
  host: MountHost,
): Promise<BindMount> {
  const localSource = host.remoteEngine ? path : await requireExisting(path);
  await requireMountable(localSource, host);
  return {
    kind: "bind",
    source: toEnginePath(localSource, host.ownMounts),
    localSource,
    target,
    readOnly,
    options: [],
    isOurs: false,
  };
}

async function requireExisting(path: string): Promise<string> {
  try {
    await stat(path);
    return await realpath(path);
  } catch (cause) {
    const reason =
      errnoOf(cause) === "ENOENT" ? "it does not exist" : `it cannot be accessed (${errnoOf(cause)})`;
    throw new AppError("sandbox-mount-refused", `Cannot mount ${path} into the sandbox: ${reason}.`, {
      cause,
      hint: "Create it, or change terminal.docker_volumes.",
    });
  }
}

/** Refuses the root folder, the user's home, our secrets, engine sockets, and all their parents, even through links. */
export async function requireMountable(path: string, host: MountHost): Promise<void> {
  const guarded: { readonly folder: string; readonly what: string; readonly hint?: string }[] = [
    { folder: host.userHome, what: "your home folder" },
    ...host.stateFolders.map((folder) => ({
      folder,
      what: "the folder with the settings and secrets of Hermes",
    })),
  ];
  if (host.engineSockets !== undefined) {
    const socket = "the socket of a container engine, which controls the whole machine";
    if (isEngineSocket(path)) throw refusal(path, `it is ${socket}`, ALLOW_SOCKET_HINT);
    guarded.push(...host.engineSockets.map((folder) => ({ folder, what: socket, hint: ALLOW_SOCKET_HINT })));
  }
  if (path === "/") throw refusal(path, "it is the whole file system");
  for (const { folder, what, hint } of guarded) {
    for (const guardedPath of [resolve(folder), await realpath(folder).catch(() => resolve(folder))]) {
      const inner = relative(path, guardedPath);
      if (inner === "") throw refusal(path, `it is ${what}`, hint);
      if (inner !== ".." && !inner.startsWith("../") && !isAbsolute(inner))
        throw refusal(path, `it contains ${what}`, hint);
    }
  }
}

function refusal(path: string, reason: string, hint?: string): AppError {
  const message = `Refused to mount ${path} into the sandbox: ${reason}.`;
  return new AppError("sandbox-mount-refused", message, hint === undefined ? {} : { hint });
}

/** Translates our path to the path on the engine's machine, in case Hermes runs in a container of that engine. */
export function toEnginePath(path: string, ownMounts: readonly OwnMount[] | undefined): string {
  if (ownMounts === undefined) return path;
  const [closest] = ownMounts
    .filter(({ destination }) => path === destination || path.startsWith(`${destination}/`))
    .toSorted((a, b) => b.destination.length - a.destination.length);
  if (closest !== undefined) return join(closest.source, path.slice(closest.destination.length));
  const hint = "Mount a folder of the host into the container of Hermes, and use a path in that folder.";
  const problem = `Cannot mount ${path} into the sandbox: it is inside the container that Hermes runs in, where the engine cannot see it.`;
  throw new AppError("sandbox-mount-refused", problem, { hint });
}
