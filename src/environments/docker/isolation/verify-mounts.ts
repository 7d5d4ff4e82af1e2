import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, opendir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { AppError, errnoOf, messageOf } from "../../../lib/errors.ts";
import { ensurePrivateFolder } from "../../../lib/files/files.ts";
import { callFailed, type Engine, succeeded } from "../engine/engine.ts";
import type { BindMount } from "../spec/mounts.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";

const EXEC_TIMEOUT_MS = 30_000;

/** For a container that cannot be created; the programs of the image cannot be the cause. */
export const REFUSED_SETTINGS_HINT =
  "Check the settings terminal.docker_volumes, docker_env, docker_shm_size and docker_extra_args.";

/** For a container that exits at its start or soon after, as it does without `sh` or `sleep`. */
export const UNUSABLE_IMAGE_HINT =
  "Check that the image has `sh` and `sleep`, and the settings terminal.docker_*.";

/** Prints each of its arguments that does not exist. */
const FIND_MISSING = 'for path; do [ -e "$path" ] || [ -L "$path" ] || printf "%s\\n" "$path"; done';

/** Creates the kept folders of a sandbox on the host. */
export async function prepareFolders(spec: SandboxSpec): Promise<void> {
  for (const { localSource, target } of keptFoldersOf(spec)) {
    await ensurePrivateFolder(dirname(localSource));
    try {
      await mkdir(localSource);
      await chmod(localSource, target === "/root" ? 0o700 : 0o755); // independent of the umask
    } catch (error) {
      if (errnoOf(error) === "EEXIST") continue;
      const problem = `Cannot create the folder ${localSource}: ${messageOf(error)}`;
      throw new AppError("file-unwritable", problem, { cause: error });
    }
  }
}

/**
 * Makes the kept folders writable for a sandbox user that is neither root nor their owner, because such a sandbox
 * cannot change owners. On the host, the mode of the parent folder keeps other users out.
 */
export async function makeKeptFoldersWritable(spec: SandboxSpec): Promise<void> {
  for (const { localSource } of keptFoldersOf(spec)) {
    await chmod(localSource, 0o777).catch((error: unknown) => {
      if (errnoOf(error) !== "EPERM") throw error; // an earlier sandbox changed the owner
    });
  }
}

/**
 * Throws unless the sandbox sees our files below each mounted path. A remote engine, or an engine outside of the container
 * that Hermes runs in, would mount its own files at that path, or none. Also verifies that a command runs.
 */
export async function verifyMounts(
  engine: Engine,
  id: string,
  spec: SandboxSpec,
  signal: AbortSignal,
): Promise<void> {
  const witnesses = await Promise.all(bindsOf(spec).map(findWitness));
  try {
    const expected = witnesses.flatMap((witness) => witness?.target ?? []);
    const args = ["exec", "--user", "0", id, "sh", "-c", FIND_MISSING, "sh", ...expected];
    const result = await engine.run(args, EXEC_TIMEOUT_MS, signal);
    if (!succeeded(result))
      throw callFailed("The new sandbox cannot run commands", result, UNUSABLE_IMAGE_HINT);
    const missing = new Set(result.stdout.split("\n"));
    for (const witness of witnesses) {
      if (witness === undefined || !missing.has(witness.target)) continue;
      // Another process may have removed the file before the sandbox checked it.
      if (await lstat(witness.path).catch(() => undefined)) throw wrongFiles(witness.mount);
    }
  } finally {
    await Promise.all(witnesses.map((witness) => witness?.remove()));
  }
}

/**
 * Finds a file below the mounted path: a temporary file in our own folders, an existing file elsewhere. Its `target` in the
 * sandbox must exist.
 */
async function findWitness(mount: BindMount) {
  const created = mount.isOurs ? await createEntry(mount.localSource) : undefined;
  const name = created ?? (await findEntry(mount.localSource));
  if (name === undefined) return undefined;
  const path = join(mount.localSource, name);
  return {
    mount,
    path,
    target: posix.join(mount.target, name),
    remove: async () => (created === undefined ? undefined : rm(path, { force: true })),
  };
}

async function createEntry(folder: string): Promise<string | undefined> {
  const name = `.hermes-mount-${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(join(folder, name), "");
    return name;
  } catch {
    return undefined; // an earlier sandbox may have changed the owner of the folder
  }
}

async function findEntry(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isDirectory()) return ".";
    for await (const { name } of await opendir(path)) if (!name.includes("\n")) return name;
    return undefined;
  } catch {
    return undefined; // a folder that we cannot read cannot be compared
  }
}

function keptFoldersOf(spec: SandboxSpec): BindMount[] {
  return bindsOf(spec).filter(({ isOurs }) => isOurs);
}

function bindsOf({ mounts }: SandboxSpec): BindMount[] {
  return mounts.flatMap((mount) => (mount.kind === "bind" ? [mount] : []));
}

function wrongFiles({ localSource, target }: BindMount): AppError {
  const hint =
    "Use an engine on this machine, mount the folder of the host into the container of Hermes, or set terminal.container_persistent to false and mount nothing.";
  const problem = `${localSource} was mounted at ${target}, but the sandbox sees other files there. Either the engine runs on another machine, or Hermes runs in a container.`;
  return new AppError("sandbox-mount-refused", problem, { hint });
}
