import type { Invocation } from "../shell-reader/invocation.ts";
import { isBlockDevice, isDevice } from "./devices.ts";
import type { Refusal } from "./refusal.ts";

const FORMATTERS = /^(?:mkfs|mkfs\..+|mke2fs|mkswap|mkdosfs|mkntfs|newfs|newfs_.+)$/;
const ERASING_VERBS =
  /^(?:erase(?:disk|volume|optical)?|reformat|zerodisk|randomdisk|secureerase|partitiondisk|deletecontainer|deletevolume)$/i;
const ADVICE =
  "Work on an image file instead, or ask the person to do this themselves in their own terminal.";

/** Making file systems on devices, wiping them, and writing to them past the file system. */
export function judgeDevices(invocation: Invocation): Refusal | undefined {
  const { name, args, cwd } = invocation;
  const named = args.find((word) => isDevice(word, cwd));
  if (FORMATTERS.test(name) && named !== undefined)
    return refuse("format-device", "make a new file system on", named);
  if (name === "diskutil" && ERASING_VERBS.test(verbOf(args)) && args.length > 1)
    return refuse("format-device", "erase", args.at(-1) ?? "");
  if (named !== undefined && wipes(name, args)) return refuse("wipe-device", "destroy all data on", named);
  const written = writtenBy(invocation).find((path) => isBlockDevice(path, cwd));
  return written === undefined ? undefined : refuse("write-device", "overwrite the raw device", written);
}

function refuse(rule: Refusal["rule"], effect: string, device: string): Refusal {
  return { rule, effect: `${effect} ${device}`, advice: ADVICE };
}

/** `diskutil apfs deleteContainer …` has its verb second. */
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
  const operands = args.filter((word) => !word.startsWith("-"));
  if (name === "tee") return [...redirected, ...operands];
  // The last operand is where it goes.
  if (name === "cp" || name === "mv")
    return [...redirected, operands.length > 1 ? (operands.at(-1) ?? "") : ""];
  return redirected;
}
