import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, opendir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { AppError, errnoOf, messageOf } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files.ts";
import { complaintOf, type Engine, succeeded } from "./engine.ts";
import type { BindMount } from "./mounts.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";

const EXEC_TIMEOUT_MS = 30_000;

/** What the engine does not even create has nothing to do with the programs of the image. */
export const REFUSED_SETTINGS_HINT =
  "Check the settings terminal.docker_volumes, docker_env, docker_shm_size and docker_extra_args.";

/** Without `sh` or `sleep` a container ends at its start or a moment later: whoever notices first says the same. */
export const UNUSABLE_IMAGE_HINT =
  "Check that the image has `sh` and `sleep`, and the settings terminal.docker_*.";

/** Prints each of its arguments that does not exist. */
const FIND_MISSING = 'for path; do [ -e "$path" ] || [ -L "$path" ] || printf "%s\\n" "$path"; done';

/** Makes the folders that a sandbox keeps on the host. */
export async function prepareFolders(spec: SandboxSpec): Promise<void> {
  for (const { localSource, target } of keptFoldersOf(spec)) {
    await ensurePrivateFolder(dirname(localSource));
    try {
      await mkdir(localSource);
      await chmod(localSource, target === "/root" ? 0o700 : 0o755); // whatever the umask is
    } catch (error) {
      if (errnoOf(error) === "EEXIST") continue;
      throw new AppError("file-unwritable", `Cannot make the folder ${localSource}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
}

/**
 * Lets a user of the sandbox who is neither root nor the owner of the kept folders work in them: no engine gives such a
 * sandbox the right to change owners. On the host, the folder above keeps others out.
 */
export async function openKeptFolders(spec: SandboxSpec): Promise<void> {
  for (const { localSource } of keptFoldersOf(spec)) {
    await chmod(localSource, 0o777).catch((error: unknown) => {
      if (errnoOf(error) !== "EPERM") throw error; // an earlier sandbox made it its own
    });
  }
}

/**
 * Throws unless the sandbox sees the same files as we do below each mounted path: an engine elsewhere, or on the other
 * side of a container that we run in, would mount its own files of that name, or none. Also proves that a command runs.
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
    const result = await engine.run(args, { timeoutMs: EXEC_TIMEOUT_MS }, signal);
    if (!succeeded(result)) {
      throw new AppError("sandbox-unavailable", `The new sandbox runs no commands: ${complaintOf(result)}`, {
        hint: UNUSABLE_IMAGE_HINT,
      });
    }
    const missing = new Set(result.stdout.split("\n"));
    for (const witness of witnesses) {
      if (witness === undefined || !missing.has(witness.target)) continue;
      // Somebody may have removed it between our look and that of the sandbox.
      if (await exists(witness.path)) throw wrongFiles(witness.mount);
    }
  } finally {
    await Promise.all(witnesses.map((witness) => witness?.remove()));
  }
}

interface Witness {
  readonly mount: BindMount;
  readonly path: string;
  /** A path in the sandbox that must exist. */
  readonly target: string;
  remove(): Promise<void>;
}

/** A file that stands below the mounted path: in our own folders one made for this, elsewhere one that is there. */
async function findWitness(mount: BindMount): Promise<Witness | undefined> {
  const made = mount.ours ? await makeEntry(mount.localSource) : undefined;
  const name = made ?? (await findEntry(mount.localSource));
  if (name === undefined) return undefined;
  const path = join(mount.localSource, name);
  return {
    mount,
    path,
    target: posix.join(mount.target, name),
    remove: async () => (made === undefined ? undefined : rm(path, { force: true })),
  };
}

async function makeEntry(folder: string): Promise<string | undefined> {
  const name = `.hermes-mount-${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(join(folder, name), "");
    return name;
  } catch {
    return undefined; // an earlier sandbox may have taken the folder away from us, which is its right
  }
}

async function findEntry(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isDirectory()) return ".";
    for await (const { name } of await opendir(path)) if (!name.includes("\n")) return name;
    return undefined;
  } catch {
    return undefined; // what we cannot look into cannot be compared
  }
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function keptFoldersOf(spec: SandboxSpec): BindMount[] {
  return bindsOf(spec).filter(({ ours }) => ours);
}

function bindsOf({ mounts }: SandboxSpec): BindMount[] {
  return mounts.flatMap((mount) => (mount.kind === "bind" ? [mount] : []));
}

function wrongFiles({ localSource, target }: BindMount): AppError {
  return new AppError(
    "sandbox-mount-refused",
    `${localSource} was mounted at ${target}, but the sandbox sees other files there: the engine runs on another machine, or Hermes runs in a container.`,
    {
      hint: "Use an engine of this machine, mount the folder from the host into Hermes's own container, or set terminal.container_persistent to false and mount nothing.",
    },
  );
}
