import { createHash } from "node:crypto";
import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { errnoOf } from "./errors.ts";
import { runProcess } from "./process.ts";

/** What a process shares with its neighbours: a pid means the same only where all three are equal. */
export interface HostFacts {
  /** Stays the same when the machine restarts or is renamed, and reveals nothing about it. */
  readonly hostId: string;
  /** Changes with each start of the machine. */
  readonly bootId: string;
  readonly pidNamespace: string;
}

const FIRST_PID_NAMESPACE = "pid:[4026531836]"; // fixed in the kernel's ABI: the namespace of the machine itself

/** The facts of the machine that this process runs on. */
export function readHostFacts(signal: AbortSignal): Promise<HostFacts> {
  return process.platform === "linux" ? readLinuxFacts() : readDarwinFacts(signal);
}

async function readLinuxFacts(): Promise<HostFacts> {
  const [machineId, bootId, pidNamespace] = await Promise.all([
    readMachineId(),
    readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    readlink("/proc/self/ns/pid"),
  ]);
  return { hostId: linuxHostId(machineId, pidNamespace, hostname()), bootId: bootId.trim(), pidNamespace };
}

/**
 * An image that is started on two machines brings one machine-id to both, and then each would see the other's
 * processes as those of an earlier boot: dead. Where the namespace is not the machine's own, the name counts too.
 */
export function linuxHostId(machineId: string | undefined, pidNamespace: string, name: string): string {
  if (machineId === undefined) return hash(name);
  return pidNamespace === FIRST_PID_NAMESPACE ? hash(machineId) : hash(`${machineId} ${name}`);
}

async function readMachineId(): Promise<string | undefined> {
  for (const path of ["/etc/machine-id", "/var/lib/dbus/machine-id"]) {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      if (["ENOENT", "EACCES", "ENOTDIR"].includes(errnoOf(error) ?? "")) return "";
      throw error;
    });
    if (/^[0-9a-f]{32}$/.test(text.trim())) return text.trim(); // a new system may still say "uninitialized"
  }
  return undefined;
}

async function readDarwinFacts(signal: AbortSignal): Promise<HostFacts> {
  const [registry, boot] = await Promise.all([
    runProcess(["/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice"], { env: {} }, signal),
    runProcess(["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"], { env: {} }, signal),
  ]);
  if (boot.exitCode !== 0) throw new Error(`sysctl: ${boot.stderr}`);
  const machineId = /"IOPlatformUUID" = "([^"]+)"/.exec(registry.stdout)?.[1];
  return { hostId: hash(machineId ?? hostname()), bootId: boot.stdout.trim(), pidNamespace: "none" };
}

function hash(text: string): string {
  return createHash("sha256").update(`hermes host ${text}`).digest("hex").slice(0, 32);
}
