import { realpath, stat } from "node:fs/promises";
import { isAbsolute, join, posix, relative, resolve } from "node:path";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { isEngineSocket } from "./engine-sockets.ts";

/** For whoever really wants a sandbox that is none. */
export const ALLOW_SOCKET_HINT =
  "Take it out, or set terminal.docker_allow_engine_socket to true if commands may control this machine.";

/** One thing that is mounted into a sandbox. */
export type Mount =
  | {
      readonly kind: "bind";
      /** Where the engine finds it. */
      readonly source: string;
      /** Where we find it; differs from `source` when we run in a container ourselves. */
      readonly localSource: string;
      readonly target: string;
      readonly readOnly: boolean;
      /** Options besides ro and rw, which only the short form knows (`z`, `rslave`…). */
      readonly options: readonly string[];
      /** In a folder that we made, where we may leave a file for a moment. */
      readonly ours: boolean;
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

/** A mount of the container that we ourselves run in. */
export interface OwnMount {
  readonly source: string;
  readonly destination: string;
}

/** What decides whether a path of the host may be mounted, and what it is called on the engine's machine. */
export interface MountHost {
  readonly userHome: string;
  /** Folders with our settings, secrets and databases. */
  readonly stateFolders: readonly string[];
  /** Sockets of container engines, which no sandbox may have; undefined where the settings ask for one by name. */
  readonly engineSockets: readonly string[] | undefined;
  readonly cwd: string;
  /** The engine runs on another machine, whose files we cannot see. */
  readonly remoteEngine: boolean;
  /** Undefined when we do not run in a container of this engine. */
  readonly ownMounts: readonly OwnMount[] | undefined;
}

/** Compares targets as paths: `/workspace/` is `/workspace`, and `/workspace/x` is neither. */
export function normaliseTarget(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 ? normal.replace(/\/$/, "") : normal;
}

export interface ParsedVolume {
  readonly source: string;
  readonly target: string;
  readonly options: readonly string[];
}

/** The parts of `source:target[:options]`, or undefined when it is not of that form. */
export function parseVolume(text: string): ParsedVolume | undefined {
  const [source = "", target = "", options = "", ...rest] = text.split(":");
  if (source === "" || !target.startsWith("/") || rest.length > 0) return undefined;
  const words = options.split(",").filter((word) => word !== "");
  return { source, target: normaliseTarget(target), options: words };
}

/** The mount that a volume of the settings asks for; throws when it may not or cannot be made. */
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

/** The mount of a folder or file of the host, whose path is absolute. */
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
    source: translate(localSource, host.ownMounts),
    localSource,
    target,
    readOnly,
    options: [],
    ours: false,
  };
}

async function requireExisting(path: string): Promise<string> {
  try {
    await stat(path);
    return await realpath(path);
  } catch (cause) {
    const reason =
      errnoOf(cause) === "ENOENT" ? "it does not exist" : `it cannot be looked at (${errnoOf(cause)})`;
    throw new AppError("sandbox-mount-refused", `Cannot mount ${path} into the sandbox: ${reason}.`, {
      cause,
      hint: "Create it, or change terminal.docker_volumes.",
    });
  }
}

/** Refuses what holds the whole machine, the whole user or our own secrets, also through a link. */
export async function requireMountable(path: string, host: MountHost): Promise<void> {
  const guarded: { readonly folder: string; readonly what: string; readonly hint?: string }[] = [
    { folder: host.userHome, what: "your home folder" },
    ...host.stateFolders.map((folder) => ({
      folder,
      what: "the folder with the settings and secrets of Hermes",
    })),
  ];
  if (host.engineSockets !== undefined) {
    const what = "the socket of a container engine, which controls the whole machine";
    if (isEngineSocket(path)) throw refusal(path, `it is ${what}`, ALLOW_SOCKET_HINT);
    guarded.push(...host.engineSockets.map((folder) => ({ folder, what, hint: ALLOW_SOCKET_HINT })));
  }
  if (path === "/") throw refusal(path, "it is the whole file system");
  for (const { folder, what, hint } of guarded) {
    for (const place of [resolve(folder), await realpath(folder).catch(() => resolve(folder))]) {
      const inner = relative(path, place);
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

/** What a path of ours is called on the engine's machine, when we run in a container of that engine. */
export function translate(path: string, ownMounts: readonly OwnMount[] | undefined): string {
  if (ownMounts === undefined) return path;
  const [best] = ownMounts
    .filter(({ destination }) => path === destination || path.startsWith(`${destination}/`))
    .toSorted((a, b) => b.destination.length - a.destination.length);
  if (best !== undefined) return join(best.source, path.slice(best.destination.length));
  throw new AppError(
    "sandbox-mount-refused",
    `Cannot mount ${path} into the sandbox: it lies inside the container that Hermes runs in, where the engine cannot see it.`,
    { hint: "Mount its folder from the host into Hermes's own container, and use that." },
  );
}
