import { createHash, randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, readdir, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../../../lib/errors.ts";

/** The folder on the host with the files of a profile's sandboxes, below the temporary folder of the machine. */
export interface SandboxFolder {
  /** Commands see it as /tmp. All sandboxes of the profile share it, because jobs outlive the process that started them. */
  readonly temporary: string;
  /** An empty file that commands see in place of each hidden file. */
  readonly blankFile: string;
  /** Creates a folder for the FIFOs of one sandbox. */
  createChannels(): Promise<string>;
  /** Removes that folder, and the placeholder (an empty mount point) unless another sandbox uses it. */
  remove(channels: string, placeholder: string | undefined): Promise<void>;
}

export async function openSandboxFolder(profileHome: string, temporary: string): Promise<SandboxFolder> {
  const uid = process.getuid?.() ?? 0;
  const digest = createHash("sha256").update(profileHome).digest("hex").slice(0, 12);
  const root = join(temporary, `hermes-sandbox-${uid}-${digest}`);
  await createOwnFolder(root, uid);
  const [files, blankFile] = [join(root, "tmp"), join(root, "blank")];
  await createOwnFolder(files, uid);
  await writeFile(blankFile, "", { flag: "wx", mode: 0 }).catch((error: unknown) => {
    if (errnoOf(error) !== "EEXIST") throw error;
  });
  await removeAbandonedChannels(root);
  return {
    temporary: files,
    blankFile,
    async createChannels() {
      const path = join(root, `channels-${process.pid}-${randomBytes(4).toString("hex")}`);
      await mkdir(path, { mode: 0o700 });
      return path;
    },
    async remove(channels, placeholder) {
      await rm(channels, { recursive: true, force: true });
      const others = (await readdir(root)).filter((name) => name.startsWith("channels-"));
      if (placeholder === undefined || others.some(isUsed)) return;
      await rmdir(placeholder).catch(() => undefined); // not empty: a repository was created there
    },
  };
}

/** A killed process does not remove its folder. Jobs that it started have closed the FIFOs in there. */
async function removeAbandonedChannels(root: string): Promise<void> {
  const abandonedFolders = (await readdir(root)).filter(
    (name) => name.startsWith("channels-") && !isUsed(name),
  );
  await Promise.all(abandonedFolders.map((name) => rm(join(root, name), { recursive: true, force: true })));
}

/** Whether the process that created the folder still runs. */
function isUsed(name: string): boolean {
  try {
    process.kill(Number(name.split("-")[1]), 0);
    return true;
  } catch {
    return false;
  }
}

/** Another user could have created the folder first, to read what commands write. */
async function createOwnFolder(path: string, uid: number): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (errnoOf(error) !== "EEXIST") throw error;
  });
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== uid)
    throw new AppError("local-sandbox-unavailable", `${path} exists, but it is not a folder of this user.`, {
      hint: "Remove it, or set TMPDIR to a folder that only you can write to.",
    });
  await chmod(path, 0o700);
}
