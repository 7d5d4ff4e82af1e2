import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { errnoOf } from "../errors.ts";
import { runProcess } from "./process.ts";

/** The scope of a pid: two pids can be compared only when all three fields are equal. */
export interface HostFacts {
  /** A hash that survives restarts and renames of the machine and reveals nothing about it. */
  readonly hostId: string;
  /** Changes with each boot. */
  readonly bootId: string;
  readonly pidNamespace: string;
}

const FIRST_PID_NAMESPACE = "pid:[4026531836]"; // the initial pid namespace; the number is part of the kernel's ABI

/** Reads the facts of the machine that this process runs on. */
export async function readHostFacts(signal: AbortSignal): Promise<HostFacts> {
  return process.platform === "linux" ? readLinuxFacts() : readDarwinFacts(signal);
}

/** Synchronous, because /proc answers from memory: using the thread pool would take longer. */
function readLinuxFacts(): HostFacts {
  const pidNamespace = readlinkSync("/proc/self/ns/pid");
  const hostId = linuxHostId(readMachineId(), pidNamespace, hostname());
  return { hostId, bootId: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(), pidNamespace };
}

/**
 * Containers of one image can have the same machine-id on two machines; each would then take the processes of the other for
 * dead processes of an earlier boot. Outside the initial pid namespace the id therefore includes the host name.
 */
export function linuxHostId(machineId: string | undefined, pidNamespace: string, name: string): string {
  if (machineId === undefined) return hash(name);
  return pidNamespace === FIRST_PID_NAMESPACE ? hash(machineId) : hash(`${machineId} ${name}`);
}

function readMachineId(): string | undefined {
  for (const path of ["/etc/machine-id", "/var/lib/dbus/machine-id"]) {
    const text = readIfAllowed(path).trim();
    if (/^[0-9a-f]{32}$/.test(text)) return text; // a new system may still contain "uninitialized"
  }
  return undefined;
}

function readIfAllowed(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "EACCES", "ENOTDIR"].includes(errnoOf(error) ?? "")) return "";
    throw error;
  }
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
