import type { Container } from "./container.ts";

/** Capabilities that an engine leaves to a container that asks for nothing else. */
const DEFAULT_CAPABILITIES = [
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "NET_RAW",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
];

/** How far a sandbox really is from the rest of the machine, as the engine describes it, whatever the settings say. */
export interface Isolation {
  readonly network: string;
  /** Empty means the image's own user, which usually is root. */
  readonly user: string;
  readonly capabilities: readonly string[];
  readonly noNewPrivileges: boolean;
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

export function isolationOf({ host, user, mounts }: Container): Isolation {
  const inMemory = Object.keys(host.Tmpfs ?? {}).map((target) => ({ target, source: undefined }));
  const mounted = mounts
    .filter(({ RW, Type }) => RW && Type !== "tmpfs")
    .map(({ Destination: target, Source, Name }) => ({ target, source: Name || Source }));
  return {
    network: host.NetworkMode ?? "unknown",
    user,
    capabilities: capabilitiesOf(host),
    noNewPrivileges: (host.SecurityOpt ?? []).some((option) =>
      /^no-new-privileges(:true|=true)?$/.test(option),
    ),
    readOnlyRoot: host.ReadonlyRootfs ?? false,
    runtime: host.Runtime || "default",
    writable: [...mounted, ...inMemory].toSorted((a, b) => (a.target < b.target ? -1 : 1)),
    cpus: host.NanoCpus ? host.NanoCpus / 1e9 : undefined,
    memoryBytes: host.Memory || undefined,
    pids: host.PidsLimit && host.PidsLimit > 0 ? host.PidsLimit : undefined,
    disk: host.StorageOpt?.["size"],
  };
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

/** The same as one line for people and models. */
export function describeIsolation(isolation: Isolation): string {
  const { capabilities, writable, memoryBytes } = isolation;
  const places = writable.map(({ target, source }) => `${target} (${source ?? "memory"})`);
  const limits = [
    isolation.cpus === undefined ? undefined : `${isolation.cpus} CPUs`,
    memoryBytes === undefined ? undefined : `${Math.round(memoryBytes / 1024 ** 2)} MB memory`,
    isolation.pids === undefined ? undefined : `${isolation.pids} processes`,
    isolation.disk === undefined ? undefined : `${isolation.disk} disk`,
  ].filter((limit) => limit !== undefined);
  return [
    `network ${isolation.network}`,
    `user ${isolation.user === "" ? "of the image" : isolation.user}`,
    `capabilities ${capabilities.length === 0 ? "none" : capabilities.join(" ")}`,
    isolation.noNewPrivileges ? "no new privileges" : "new privileges possible",
    `root file system ${isolation.readOnlyRoot ? "read-only" : "writable"}`,
    `writable: ${places.length === 0 ? "nothing else" : places.join(", ")}`,
    `limits: ${limits.length === 0 ? "none" : limits.join(", ")}`,
    `runtime ${isolation.runtime}`,
  ].join("; ");
}
