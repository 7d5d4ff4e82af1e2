import { readTextFile } from "../../lib/files/files.ts";
import type { InstanceSpec } from "./instance-spec.ts";

/** Kernel settings that can forbid user namespaces, with the value that forbids them. */
const KERNEL_SETTINGS = [
  ["/proc/sys/user/max_user_namespaces", "0"],
  ["/proc/sys/kernel/unprivileged_userns_clone", "0"],
  ["/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"],
] as const;

/** A hint for an instance that does not start, based on this machine's kernel settings. */
export async function createStartHint(
  { asRoot, overlayFolder }: Pick<InstanceSpec, "asRoot" | "overlayFolder">,
  program: string,
  settings: readonly (readonly [path: string, off: string])[] = KERNEL_SETTINGS,
): Promise<string> {
  if (!asRoot) {
    for (const [path, off] of settings) {
      if ((await readTextFile(path))?.trim() !== off) continue;
      return `User namespaces are disabled for ordinary users (${path} is ${off}): ask an administrator to allow them, or to install ${program} with its setuid part.`;
    }
  }
  const overlay =
    overlayFolder === undefined
      ? ""
      : " If overlays cannot be mounted, set terminal.container_persistent to false, or terminal.scratch_dir to a local disk.";
  return `Check that \`${program} exec IMAGE true\` works with this image.${overlay}`;
}
