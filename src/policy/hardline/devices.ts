import { resolvePath } from "./protected-folders.ts";

// Names of disks and partitions; a glob pattern or an unknown value may replace their letters and numbers.
const BLOCK_DEVICE = new RegExp(
  `^/dev/(?:${[
    "(?:sd|hd|vd|xvd)[a-z*?[\uFFFC][^/]*",
    "(?:nvme|mmcblk|md|dm-|loop|nbd|r?disk|zd|pmem|bcache|drbd|rbd)[0-9*?[\uFFFC][^/]*",
    "(?:md|mapper|block|zvol|disk/by-[a-z]+)/.+",
    "(?:sd|hd|vd|xvd|nvme|mmcblk)\\*",
  ].join("|")})$`,
);
const PSEUDO_DEVICE =
  /^\/dev\/(?:null|zero|full|u?random|tty[^/]*|console|ptmx|kmsg|log|mapper\/control|(?:std(?:in|out|err)|fd|shm|pts|tcp|udp|mqueue)(?:\/.*)?)$/;

/** Whether the path has the name of a disk, a partition or another block device. */
export function isBlockDevice(path: string, cwd: string | undefined): boolean {
  const absolute = resolveDevice(path, cwd);
  return absolute !== undefined && BLOCK_DEVICE.test(absolute) && !PSEUDO_DEVICE.test(absolute);
}

/** Whether the path is anything in /dev that holds data, including volumes with custom names. */
export function isDevice(path: string, cwd: string | undefined): boolean {
  const absolute = resolveDevice(path, cwd);
  return absolute?.startsWith("/dev/") === true && !PSEUDO_DEVICE.test(absolute);
}

/** Whether the path is the memory or the ports of the machine. */
export function isMemory(path: string, cwd: string | undefined): boolean {
  return /^\/dev\/(?:k?mem|port|nvram)$/.test(resolveDevice(path, cwd) ?? "");
}

/** Skips paths that cannot lead to /dev, which saves time: every argument of every program is checked. */
function resolveDevice(path: string, cwd: string | undefined): string | undefined {
  return path.includes("dev") || cwd?.includes("dev") ? resolvePath(path, cwd) : undefined;
}
