import type { Invocation } from "../shell-reader/invocation.ts";
import { isBlockDevice, isDevice, isMemory } from "./devices.ts";
import { resolvePath } from "./protected-folders.ts";
import type { Refusal } from "./refusal.ts";

const FORMATTERS = /^(?:mkfs|mkfs\..+|mke2fs|mkswap|mkdosfs|mkntfs|newfs|newfs_.+)$/;
const ERASING_VERBS =
  /^(?:erase(?:disk|volume|optical)?|reformat|zerodisk|randomdisk|secureerase|partitiondisk|deletecontainer|deletevolume)$/i;
const ADVICE = "Work on an image file instead, or ask the user to run this in their own terminal.";

/** Refuses commands that format devices, wipe them, or write to them directly. */
export function checkDevices(invocation: Invocation): Refusal | undefined {
  const { name, args, cwd } = invocation;
  const named = args.find((word) => isDevice(word, cwd));
  if (FORMATTERS.test(name) && named !== undefined)
    return refuse("format-device", "make a new file system on", named);
  if (name === "diskutil" && ERASING_VERBS.test(verbOf(args)) && args.length > 1)
    return refuse("format-device", "erase", args.at(-1) ?? "");
  if (named !== undefined && wipes(name, args)) return refuse("wipe-device", "destroy all data on", named);
  const written = writtenBy(invocation).find((path) => isBlockDevice(path, cwd) || isMemory(path, cwd));
  if (written !== undefined) return refuse("write-device", "overwrite the raw device", written);
  // A file that is moved to /dev/null is lost, and as root the device is lost, too.
  const target = name === "mv" || name === "ln" ? targetOf(args) : "";
  return resolvePath(target, cwd)?.match(/^\/dev\/[^/]+$/)
    ? refuse("write-device", "replace the device", target)
    : undefined;
}

function refuse(rule: Refusal["rule"], effect: string, device: string): Refusal {
  return { rule, effect: `${effect} ${device}`, advice: ADVICE };
}

/** The verb of `diskutil apfs deleteContainer …` is the second argument. */
function verbOf(args: readonly string[]): string {
  return (/^(?:apfs|cs|corestorage)$/i.test(args[0] ?? "") ? args[1] : args[0]) ?? "";
}

function wipes(name: string, args: readonly string[]): boolean {
  switch (name) {
    case "wipefs":
      return (
        args.some((word) => /^-[a-z]*[ao]|^--(?:all|offset)/.test(word)) &&
        !hasOption(args, /^-[a-z]*n|^--no-act$/)
      );
    case "sgdisk":
      return hasOption(args, /^-[a-zA-Z]*[zZo]|^--(?:zap|zap-all|clear)$/);
    case "blkdiscard":
    case "shred":
      return !hasOption(args, /^--(?:help|version)$/);
    default:
      return false;
  }
}

function hasOption(args: readonly string[], option: RegExp): boolean {
  return args.some((word) => option.test(word));
}

function writtenBy({ name, args, files }: Invocation): readonly string[] {
  const redirected = files.filter(({ operator }) => operator.includes(">")).map(({ path }) => path);
  if (name === "dd")
    return [...redirected, ...args.filter((word) => word.startsWith("of=")).map((word) => word.slice(3))];
  if (name === "tee") return [...redirected, ...args.filter((word) => !word.startsWith("-"))];
  if (name === "cp" || name === "mv" || name === "install") return [...redirected, targetOf(args)];
  return redirected;
}

/** The last of at least two operands, or the value of `-t`; empty if there is none. */
function targetOf(args: readonly string[]): string {
  const at = args.findIndex((word) => word === "-t" || word === "--target-directory");
  if (at >= 0) return args[at + 1] ?? "";
  const operands = args.filter((word) => !word.startsWith("-"));
  return operands.length > 1 ? (operands.at(-1) ?? "") : "";
}
