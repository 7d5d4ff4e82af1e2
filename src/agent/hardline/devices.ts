import { resolvePath } from "./protected-paths.ts";

// Disks and partitions by name; a pattern or an unknown value may stand where their letters and numbers do.
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

/** Whether the path is a disk, a partition or the like by its name. */
export function isBlockDevice(path: string, cwd: string | undefined): boolean {
  const absolute = resolvePath(path, cwd);
  return absolute !== undefined && BLOCK_DEVICE.test(absolute) && !PSEUDO_DEVICE.test(absolute);
}

/** Whether the path is anything in /dev that holds data, such as a volume of its own name. */
export function isDevice(path: string, cwd: string | undefined): boolean {
  const absolute = resolvePath(path, cwd);
  return absolute?.startsWith("/dev/") === true && !PSEUDO_DEVICE.test(absolute);
}
