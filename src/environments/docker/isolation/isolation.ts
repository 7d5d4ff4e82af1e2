import type { Engine } from "../engine/engine.ts";
import { isEngineSocket } from "../engine/socket-paths.ts";
import type { Container } from "../lifecycle/container.ts";
import { type KernelView, readKernelView } from "./kernel-view.ts";

/** The actual isolation of a sandbox, as its engine and its kernel report it, independent of the settings. */
export interface Isolation extends Omit<KernelView, "interfaces" | "mounts"> {
  /** False for a stopped sandbox, for which only the engine's description is known. */
  readonly seenFromInside: boolean;
  readonly privileged: boolean;
  readonly network: string;
  readonly interfaces: readonly string[] | undefined;
  readonly engineSockets: readonly string[];
  readonly readOnlyRoot: boolean;
  readonly runtime: string;
  readonly writable: readonly WritableMount[];
  readonly disk: string | undefined;
}

export interface WritableMount {
  readonly target: string;
  /** The path or volume of the host; undefined for memory. */
  readonly source: string | undefined;
}

/** Capabilities that an engine gives a container by default. */
const DEFAULT_CAPABILITIES =
  "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE NET_RAW SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(
    " ",
  );

/** Paths that the engine mounts into every container; each container has its own. Only /dev/shm is writable. */
const ENGINE_MOUNTS =
  /^\/(proc|sys|dev(?!\/shm$))(\/|$)|^\/etc\/(resolv\.conf|hostname|hosts)$|^\/run\/\.containerenv$/;

/** Reads the engine's description and, for a running sandbox, the kernel's view from inside. */
export async function readIsolation(
  engine: Engine,
  container: Container,
  signal: AbortSignal,
): Promise<Isolation> {
  const described = isolationOf(container, engine.env);
  if (container.state !== "running") return described;
  const { mounts, ...kernel } = await readKernelView(engine, container.id, signal);
  const engineSockets = new Set(described.engineSockets);
  return {
    ...described,
    ...kernel,
    seenFromInside: true,
    hostNamespaces: [...new Set([...described.hostNamespaces, ...kernel.hostNamespaces])].toSorted(),
    devices: [...new Set([...described.devices, ...kernel.devices])].toSorted(),
    engineSockets: kernel.sockets.filter((path) => engineSockets.has(path) || isEngineSocket(path)),
    readOnlyRoot: mounts.some(({ target, writable }) => target === "/" && !writable),
    writable: findWritableMounts(mounts, container),
  };
}

function findWritableMounts(mounts: KernelView["mounts"], container: Container): WritableMount[] {
  const sources = new Map(container.mounts.map((mount) => [mount.Destination, mount.Name || mount.Source]));
  return mounts
    .filter(({ target, writable }) => writable && target !== "/" && !ENGINE_MOUNTS.test(target))
    .map(({ target, type }) => ({
      target,
      source: type === "tmpfs" ? undefined : (sources.get(target) ?? "the host"),
    }))
    .toSorted((a, b) => (a.target < b.target ? -1 : 1));
}

/** The isolation according to the engine's description alone. */
export function isolationOf({ host, user, mounts, networks }: Container, env: Engine["env"]): Isolation {
  const inMemory = Object.keys(host.Tmpfs ?? {}).map((target) => ({ target, source: undefined }));
  const mounted = mounts
    .filter(({ RW, Type }) => RW && Type !== "tmpfs")
    .map(({ Destination: target, Source, Name }) => ({ target, source: Name || Source }));
  const privileged = host.Privileged ?? false;
  const sockets = mounts.filter(({ Source }) => Source !== undefined && isEngineSocket(Source, env));
  return {
    seenFromInside: false,
    privileged,
    network: networks.length > 0 ? networks.join(", ") : (host.NetworkMode ?? "unknown"),
    interfaces: undefined,
    user,
    capabilities: capabilitiesOf(host),
    noNewPrivileges: isSet(host.SecurityOpt, "no-new-privileges"),
    filtersSystemCalls: !privileged && !(host.SecurityOpt ?? []).includes("seccomp=unconfined"),
    confinement: undefined,
    hostNamespaces: Object.entries({ ipc: host.IpcMode, pid: host.PidMode, uts: host.UTSMode })
      .filter(([, mode]) => mode === "host")
      .map(([name]) => name),
    devices: [
      ...(host.Devices ?? []).map(({ PathInContainer }) => PathInContainer),
      ...(host.DeviceRequests ?? []).map(({ Driver }) => `all devices of ${Driver || "the GPU driver"}`),
    ],
    sockets: sockets.map(({ Destination }) => Destination),
    engineSockets: sockets.map(({ Destination }) => Destination),
    readOnlyRoot: host.ReadonlyRootfs ?? false,
    runtime: host.Runtime || "default",
    writable: [...mounted, ...inMemory].toSorted((a, b) => (a.target < b.target ? -1 : 1)),
    cpus: host.NanoCpus ? host.NanoCpus / 1e9 : undefined,
    memoryBytes: host.Memory || undefined,
    pids: host.PidsLimit && host.PidsLimit > 0 ? host.PidsLimit : undefined,
    disk: host.StorageOpt?.["size"],
  };
}

/** Of several options with the same name, the last one applies. */
function isSet(options: readonly string[] | null | undefined, name: string): boolean {
  const last = (options ?? []).findLast((option) => option.split(/[:=]/)[0] === name);
  return last !== undefined && !/[:=](false|0|f)$/i.test(last);
}

function capabilitiesOf({ Privileged, CapAdd, CapDrop }: Container["host"]): string[] {
  if (Privileged) return ["ALL"];
  const plain = (names: readonly string[] | null | undefined) =>
    (names ?? []).map((name) => name.toUpperCase().replace(/^CAP_/, ""));
  const added = plain(CapAdd);
  const dropped = new Set(plain(CapDrop));
  if (added.includes("ALL")) return ["ALL"];
  const kept = dropped.has("ALL") ? [] : DEFAULT_CAPABILITIES.filter((name) => !dropped.has(name));
  return [...new Set([...kept, ...added])].toSorted();
}

const MAX_SHOWN_DEVICES = 8;

const NAMESPACE_EFFECTS: Readonly<Record<string, string>> = {
  pid: "processes of the host are visible",
  ipc: "shared memory and message queues are shared with the host",
  uts: "the host name is shared with the host",
};

/** Formats the isolation as lines for users and models. */
export function describeIsolation(isolation: Isolation): string[] {
  const { capabilities, devices, writable, memoryBytes } = isolation;
  const outside = isolation.interfaces?.filter((name) => name !== "lo");
  const others = isolation.sockets.filter((path) => !isolation.engineSockets.includes(path));
  const writableMounts = writable.map(({ target, source }) => `${target} (${source ?? "memory"})`);
  const more = devices.length > MAX_SHOWN_DEVICES ? `, and ${devices.length - MAX_SHOWN_DEVICES} more` : "";
  const limits = Object.entries({
    CPUs: isolation.cpus,
    memory: memoryBytes === undefined ? undefined : `${Math.round(memoryBytes / 1024 ** 2)} MB`,
    processes: isolation.pids,
    disk: isolation.disk,
  }).map(([resource, limit]) => (limit === undefined ? `unlimited ${resource}` : `${limit} ${resource}`));
  return [
    ...(isolation.privileged ? ["PRIVILEGED: not isolated from the host"] : []),
    ...isolation.engineSockets.map(
      (path) => `ENGINE SOCKET ${path}: commands control the engine, and with it the whole machine`,
    ),
    `network ${isolation.network}${outside === undefined || outside.length === 0 ? "" : ` (${outside.join(", ")})`}`,
    `user ${isolation.user === "" ? "of the image" : isolation.user}`,
    `capabilities ${capabilities.length === 0 ? "none" : capabilities.join(" ")}`,
    isolation.noNewPrivileges ? "no new privileges" : "new privileges possible",
    `system calls ${isolation.filtersSystemCalls ? "filtered" : "not filtered (seccomp is off)"}`,
    ...(isolation.confinement === undefined ? [] : [`confined as ${isolation.confinement}`]),
    ...isolation.hostNamespaces.map(
      (name) => `namespace ${name} of the host: ${NAMESPACE_EFFECTS[name] ?? "shared"}`,
    ),
    `devices ${devices.length === 0 ? "none beyond the usual" : devices.slice(0, MAX_SHOWN_DEVICES).join(", ") + more}`,
    ...(others.length === 0 ? [] : [`sockets of the host: ${others.join(", ")}`]),
    `root file system ${isolation.readOnlyRoot ? "read-only" : "writable"}`,
    `writable: ${writableMounts.length === 0 ? "nothing else" : writableMounts.join(", ")}`,
    `limits: ${limits.join(", ")}`,
    `runtime ${isolation.runtime}`,
  ];
}
