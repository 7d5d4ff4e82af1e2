import { callFailed, type Engine, succeeded } from "../engine/engine.ts";

const EXEC_TIMEOUT_MS = 10_000;

/** The isolation of a command in a sandbox as the kernel reports it, independent of the engine's settings. */
export type KernelView = Readonly<ReturnType<typeof parseKernelView>>;

/** In the order of their numbers in linux/capability.h. */
const CAPABILITIES = (
  "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE " +
  "NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN " +
  "SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE " +
  "MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE"
).split(" ");

/** The kernel always gives the host's namespaces these numbers. */
const HOST_NAMESPACES = { pid: "4026531836", ipc: "4026531839", uts: "4026531838" } as const;

const STANDARD_DEVICES =
  /^\/dev\/(null|zero|full|random|urandom|tty|console|ptmx|pts\/\d+|pts\/ptmx|fd\/\d+|stdin|stdout|stderr)$/;

/** cgroup v1 reports "no limit" as a number near the maximum. */
const NO_LIMIT = 2 ** 60;

/** Prints sections, each after a line with its name; a section that cannot be read is empty. */
const READ_SCRIPT = `
echo @status; cat /proc/self/status
echo @confinement; cat /proc/self/attr/current 2>/dev/null | tr -d '\\0'; echo
echo @namespaces; for name in pid ipc uts; do echo "$name $(readlink /proc/self/ns/$name)"; done
echo @interfaces; cat /proc/net/dev
echo @devices; for path in /dev/* /dev/*/*; do if [ -b "$path" ] || [ -c "$path" ]; then echo "$path"; fi; done
echo @mounts; cat /proc/self/mountinfo
echo @sockets; while read -r _ _ _ _ target _; do case $target in /|/proc*|/sys*|/dev*) continue;; esac
for path in "$target" "$target"/* "$target"/*/*; do [ ! -S "$path" ] || echo "$path"; done; done </proc/self/mountinfo
cd /sys/fs/cgroup 2>/dev/null || exit 0
echo @memory; cat memory.max memory/memory.limit_in_bytes 2>/dev/null
echo @pids; cat pids.max pids/pids.max 2>/dev/null
echo @cpus; cat cpu.max 2>/dev/null || echo $(cat cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us 2>/dev/null)
exit 0`;

/** Reads the view from inside the sandbox, as the user that commands run as. */
export async function readKernelView(engine: Engine, id: string, signal: AbortSignal): Promise<KernelView> {
  const args = ["exec", id, "sh", "-c", READ_SCRIPT];
  const result = await engine.run(args, EXEC_TIMEOUT_MS, signal);
  if (succeeded(result)) return parseKernelView(result.stdout);
  throw callFailed("Cannot read the isolation of the sandbox", result);
}

export function parseKernelView(text: string) {
  const sections = new Map(
    text
      .split(/^@/m)
      .slice(1)
      .map((section) => {
        const [name = "", ...lines] = section.trimEnd().split("\n");
        return [name, lines] as const;
      }),
  );
  const linesOf = (name: string): readonly string[] => sections.get(name) ?? [];
  const status = new Map(linesOf("status").map((line) => [line.split(":")[0], line.split("\t").slice(1)]));
  const bits = BigInt(`0x${status.get("CapBnd")?.[0] ?? "0"}`);
  const [confinement = ""] = linesOf("confinement");
  return {
    /** An empty value from the engine means the user of the image, which is usually root. */
    user: `${status.get("Uid")?.[0]}:${status.get("Gid")?.[0]}`,
    /** All capabilities that a command can ever get, not only those that it starts with. */
    capabilities: CAPABILITIES.filter((_, bit) => bits & (1n << BigInt(bit))).toSorted(),
    noNewPrivileges: status.get("NoNewPrivs")?.[0] === "1",
    filtersSystemCalls: (status.get("Seccomp")?.[0] ?? "0") !== "0",
    /** The AppArmor profile or SELinux label; undefined where the kernel supports neither. */
    confinement: confinement === "" ? undefined : confinement,
    hostNamespaces: Object.entries(HOST_NAMESPACES)
      .filter(([name, number]) => linesOf("namespaces").includes(`${name} ${name}:[${number}]`))
      .map(([name]) => name),
    interfaces: linesOf("interfaces").flatMap((line) => /^\s*([^\s:]+):/.exec(line)?.[1] ?? []),
    /** Devices other than those that every container has. */
    devices: linesOf("devices").filter((path) => !STANDARD_DEVICES.test(path)),
    sockets: [...new Set(linesOf("sockets"))].toSorted(),
    mounts: linesOf("mounts").flatMap((line) => parseMount(line) ?? []),
    /** For each limit, undefined means no limit. */
    memoryBytes: parseLimit(linesOf("memory")[0]),
    pids: parseLimit(linesOf("pids")[0]),
    cpus: parseCpus(linesOf("cpus")[0]),
  };
}

function parseMount(line: string) {
  const [before = "", after = ""] = line.split(" - ");
  const [, , , , target, options = ""] = before.split(" ");
  if (target === undefined) return undefined;
  const path = target.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
  return { target: path, writable: options.split(",").includes("rw"), type: after.split(" ")[0] ?? "" };
}

function parseLimit(text = ""): number | undefined {
  const limit = Number.parseInt(text, 10);
  return limit > 0 && limit < NO_LIMIT ? limit : undefined;
}

function parseCpus(text = ""): number | undefined {
  const [quota, period] = text.split(" ").map(Number);
  return quota !== undefined && period !== undefined && quota > 0 && period > 0 ? quota / period : undefined;
}
