import type { Container } from "./container.ts";
import type { Engine } from "./engine.ts";
import { isEngineSocket } from "./engine-sockets.ts";
import { type KernelView, readKernelView } from "./kernel-view.ts";

/** How far a sandbox really is from the rest of the machine, as its engine and its kernel say, whatever the settings say. */
export interface Isolation {
  /** False for one that does not run: then only the engine was asked. */
  readonly seenFromInside: boolean;
  readonly privileged: boolean;
  readonly network: string;
  readonly interfaces: readonly string[] | undefined;
  /** Empty means the image's own user, which usually is root. */
  readonly user: string;
  readonly capabilities: readonly string[];
  readonly noNewPrivileges: boolean;
  readonly filtersSystemCalls: boolean;
  readonly confinement: string | undefined;
  /** Namespaces of the machine that the sandbox is in, such as `pid`. */
  readonly hostNamespaces: readonly string[];
  /** Beyond those that every container has. */
  readonly devices: readonly string[];
  /** Sockets of the host, by their paths in the sandbox. */
  readonly sockets: readonly string[];
  /** Those of them behind which a container engine listens. */
  readonly engineSockets: readonly string[];
  readonly readOnlyRoot: boolean;
  readonly runtime: string;
  readonly writable: readonly WritablePlace[];
  /** Undefined means no limit. */
  readonly cpus: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly pids: number | undefined;
  readonly disk: string | undefined;
}

export interface WritablePlace {
  readonly target: string;
  /** The path or volume of the host, or undefined for memory. */
  readonly source: string | undefined;
}

/** Capabilities that an engine leaves to a container that asks for nothing else. */
const DEFAULT_CAPABILITIES =
  "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE NET_RAW SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(
    " ",
  );

/** Files that the engine itself mounts into every container, each of its own. */
const ENGINES_OWN = /^\/(proc|sys|dev)(\/|$)|^\/etc\/(resolv\.conf|hostname|hosts)$|^\/run\/\.containerenv$/;

/** Asks the engine's description and, where it runs, the kernel inside of the sandbox. */
export async function readIsolation(
  engine: Engine,
  container: Container,
  signal: AbortSignal,
): Promise<Isolation> {
  const said = isolationOf(container, engine.env);
  if (container.state !== "running") return said;
  const kernel = await readKernelView(engine, container.id, signal);
  const engineSockets = new Set(said.engineSockets);
  return {
    ...said,
    seenFromInside: true,
    interfaces: kernel.interfaces,
    user: kernel.user,
    capabilities: kernel.capabilities,
    noNewPrivileges: kernel.noNewPrivileges,
    filtersSystemCalls: kernel.filtersSystemCalls,
    confinement: kernel.confinement,
    hostNamespaces: [...new Set([...said.hostNamespaces, ...kernel.hostNamespaces])].toSorted(),
    devices: [...new Set([...said.devices, ...kernel.devices])].toSorted(),
    sockets: kernel.sockets,
    engineSockets: kernel.sockets.filter((path) => engineSockets.has(path) || isEngineSocket(path)),
    readOnlyRoot: kernel.mounts.some(({ target, writable }) => target === "/" && !writable),
    writable: writablePlaces(kernel, container),
    cpus: kernel.cpus,
    memoryBytes: kernel.memoryBytes,
    pids: kernel.pids,
  };
}

function writablePlaces({ mounts }: KernelView, container: Container): WritablePlace[] {
  const sources = new Map(container.mounts.map((mount) => [mount.Destination, mount.Name || mount.Source]));
  return mounts
    .filter(({ target, writable }) => writable && target !== "/" && !ENGINES_OWN.test(target))
    .map(({ target, type }) => ({
      target,
      source: type === "tmpfs" ? undefined : (sources.get(target) ?? "the host"),
    }))
    .toSorted((a, b) => (a.target < b.target ? -1 : 1));
}

/** What the engine's description says alone. */
export function isolationOf({ host, user, mounts }: Container, env: Engine["env"]): Isolation {
  const inMemory = Object.keys(host.Tmpfs ?? {}).map((target) => ({ target, source: undefined }));
  const mounted = mounts
    .filter(({ RW, Type }) => RW && Type !== "tmpfs")
    .map(({ Destination: target, Source, Name }) => ({ target, source: Name || Source }));
  const privileged = host.Privileged ?? false;
  const sockets = mounts.filter(({ Source }) => Source !== undefined && isEngineSocket(Source, env));
  return {
    seenFromInside: false,
    privileged,
    network: host.NetworkMode ?? "unknown",
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
      ...(host.DeviceRequests ?? []).map(({ Driver }) => `all that ${Driver || "the GPU driver"} gives`),
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

/** Of several options of one name the last one counts. */
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

const SHOWN_DEVICES = 8;

const SHARED: Readonly<Record<string, string>> = {
  pid: "the machine's processes can be seen",
  ipc: "shared memory and message queues are the machine's",
  uts: "the host name is the machine's",
};

/** The same in lines for people and models. */
export function describeIsolation(isolation: Isolation): string[] {
  const { capabilities, devices, writable, memoryBytes } = isolation;
  const outside = isolation.interfaces?.filter((name) => name !== "lo");
  const others = isolation.sockets.filter((path) => !isolation.engineSockets.includes(path));
  const places = writable.map(({ target, source }) => `${target} (${source ?? "memory"})`);
  const more = devices.length > SHOWN_DEVICES ? `, and ${devices.length - SHOWN_DEVICES} more` : "";
  const limits = [
    isolation.cpus === undefined ? undefined : `${isolation.cpus} CPUs`,
    memoryBytes === undefined ? undefined : `${Math.round(memoryBytes / 1024 ** 2)} MB memory`,
    isolation.pids === undefined ? undefined : `${isolation.pids} processes`,
    isolation.disk === undefined ? undefined : `${isolation.disk} disk`,
  ].filter((limit) => limit !== undefined);
  return [
    ...(isolation.privileged ? ["PRIVILEGED: nothing keeps it from the rest of the machine"] : []),
    ...isolation.engineSockets.map(
      (path) => `ENGINE SOCKET ${path}: commands control the engine, and with it the whole machine`,
    ),
    `network ${isolation.network}${outside === undefined || outside.length === 0 ? "" : ` (${outside.join(", ")})`}`,
    `user ${isolation.user === "" ? "of the image" : isolation.user}`,
    `capabilities ${capabilities.length === 0 ? "none" : capabilities.join(" ")}`,
    isolation.noNewPrivileges ? "no new privileges" : "new privileges possible",
    `system calls ${isolation.filtersSystemCalls ? "filtered" : "not filtered (seccomp is off)"}`,
    ...(isolation.confinement === undefined ? [] : [`confined as ${isolation.confinement}`]),
    ...isolation.hostNamespaces.map((name) => `namespace ${name} of the host: ${SHARED[name] ?? "shared"}`),
    `devices ${devices.length === 0 ? "none beyond the usual" : devices.slice(0, SHOWN_DEVICES).join(", ") + more}`,
    ...(others.length === 0 ? [] : [`sockets of the host: ${others.join(", ")}`]),
    `root file system ${isolation.readOnlyRoot ? "read-only" : "writable"}`,
    `writable: ${places.length === 0 ? "nothing else" : places.join(", ")}`,
    `limits: ${limits.length === 0 ? "none" : limits.join(", ")}`,
    `runtime ${isolation.runtime}`,
  ];
}
