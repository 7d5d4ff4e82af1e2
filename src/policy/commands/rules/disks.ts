import { hasOption, operandsOf, subcommandOf } from "../arguments.ts";
import type { Match } from "../command-classes.ts";
import type { ClassRule } from "./class-rule.ts";

const FORMATTERS = /^(?:mkfs|mkfs\..+|mke2fs|mkswap|mkdosfs|mkntfs|newfs|newfs_.+|mkudffs|bcache)$/;
const PARTITIONERS =
  /^(?:fdisk|sfdisk|gdisk|sgdisk|cfdisk|parted|wipefs|blkdiscard|losetup|partx|resize2fs|tune2fs|fsck|fsck\..+|e2fsck|badblocks|hdparm|nvme|mdadm|dmsetup|cryptsetup)$/;
const VOLUME_VERBS = /^(?:destroy|rollback|create|labelclear|detach|offline)$/;

/** Operands of a `dd` that fills a file of the project with zeros or random data, or only measures speed. */
function isPlainOperand(word: string): boolean {
  if (word.startsWith("of=")) return /^of=(?:\/dev\/null|(?!\/|~|.*\.\.)[\w./-]+)$/.test(word);
  return !word.startsWith("if=") || /^if=\/dev\/(?:zero|u?random)$/.test(word);
}

/** Writing disks and disk images, and erasing files so that they cannot be restored. */
export const checkDisks: ClassRule = ({ name, args }) => {
  const writes = (effect: string): Match => ({ class: "disk-write", effect });
  if (args.length === 0 || hasOption(args, /^--(?:help|version)$/)) return undefined;
  if (name === "ddrescue" || name === "dcfldd" || (name === "dd" && !args.every(isPlainOperand)))
    return writes("copies raw data, and overwrites its target without asking");
  if (name === "mv" && /^\/+dev\//.test(operandsOf(args).at(-1) ?? ""))
    return writes("replaces a device with a file");
  if (FORMATTERS.test(name)) return writes("makes a new file system, which destroys the old content");
  if (name === "shred" || name === "srm" || name === "wipe" || name === "scrub")
    return writes("makes files unrecoverable");
  if (PARTITIONERS.test(name)) {
    const reads =
      hasOption(args, /^(?:-l|--list|-a|-p|--print|-n|--detail|--scan|-D|-I|-j|--json|-O)$|^-l/) &&
      name !== "wipefs";
    const queries =
      /^(?:print|status|luksDump|info|list|ls|table|isLuks|smart-log|id-ctrl)$/.test(
        operandsOf(args).at(-1) ?? "",
      ) || /^(?:status|luksDump|info|ls|list|table|smart-log|id-ctrl)$/.test(subcommandOf(args).verb);
    return reads || queries ? undefined : writes("changes disks, partitions or their file systems");
  }
  if (
    /^(?:zfs|zpool|btrfs)$/.test(name) &&
    args.slice(0, 3).some((word) => VOLUME_VERBS.test(word) || word === "delete")
  )
    return writes("changes or destroys volumes");
  if (/^(?:lv|vg|pv)(?:remove|reduce|resize)$/.test(name)) return writes("changes or destroys volumes");
  return undefined;
};
