import { readTextFile } from "../../lib/files.ts";
import type { InstanceSpec } from "./instance-spec.ts";

/** Switches of the kernel that forbid an ordinary user a namespace, and the value that does. */
const SWITCHES = [
  ["/proc/sys/user/max_user_namespaces", "0"],
  ["/proc/sys/kernel/unprivileged_userns_clone", "0"],
  ["/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"],
] as const;

/** What to do about an instance that does not start, from what this machine is like. */
export async function startHint(
  { asRoot, overlayFolder }: Pick<InstanceSpec, "asRoot" | "overlayFolder">,
  program: string,
  switches: readonly (readonly [path: string, off: string])[] = SWITCHES,
): Promise<string> {
  if (!asRoot) {
    for (const [path, off] of switches) {
      if ((await readTextFile(path))?.trim() !== off) continue;
      return `User namespaces are off for you (${path} is ${off}): ask an administrator to allow them, or to install ${program} with its setuid part.`;
    }
  }
  const overlay =
    overlayFolder === undefined
      ? ""
      : " Where overlays cannot be mounted, set terminal.container_persistent to false, or terminal.scratch_dir to a local disk.";
  return `Check that \`${program} exec IMAGE true\` works with this image.${overlay}`;
}
