import { access, constants } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { AppError } from "../../lib/errors.ts";

export interface ScratchChoice {
  /** `terminal.scratch_dir`; empty means automatic. */
  readonly setting: string;
  /** The system's user name. */
  readonly user: string | undefined;
  /** The root of a cluster's fast file system. */
  readonly clusterFolder: string;
  readonly sandboxesFolder: string;
}

/** The folder for overlays and images: the setting, else the user's folder on a cluster, else next to other sandboxes. */
export async function chooseScratchFolder(choice: ScratchChoice): Promise<string> {
  const folder = await choose(choice);
  const reason = !isAbsolute(folder)
    ? "it is not an absolute path"
    : /[:,\n]/.test(folder)
      ? "its name contains a colon, comma or newline, which separate arguments"
      : undefined;
  if (reason === undefined) return folder;
  throw new AppError("config-invalid", `${folder} cannot be used for the files of instances: ${reason}.`, {
    hint: "Set terminal.scratch_dir to another folder.",
  });
}

async function choose({ setting, user, clusterFolder, sandboxesFolder }: ScratchChoice): Promise<string> {
  if (setting !== "") return setting;
  if (user !== undefined && /^[\w-][\w.-]*$/.test(user)) {
    const own = join(clusterFolder, user);
    if (await isWritable(own)) return join(own, "hermes-agent");
  }
  return join(sandboxesFolder, "singularity");
}

async function isWritable(path: string): Promise<boolean> {
  try {
    await access(`${path}/.`, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false; // unusable, whatever the reason
  }
}
