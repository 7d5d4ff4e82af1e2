import { createHash } from "node:crypto";
import { chmod, lstat } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files/files.ts";

/** The maximum length of a socket path on the strictest system, including the terminating NUL. */
const ADDRESS_BYTES = 104;
/** ssh first creates the socket with a suffix of this length, and renames it once it works. */
const TEMPORARY_TAIL = ".XXXXXXXXXXXXXXXX";

/**
 * The path of the control socket for the shared connection of an identity. Its folder is private to the user and lies
 * below the temporary folder, or below `/tmp` if that path is too long or contains characters that ssh would expand.
 */
export async function ensureControlSocket(
  identity: readonly unknown[],
  temporaryFolder: string,
): Promise<string> {
  const name = createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 16);
  const socketIn = (folder: string) => join(folder, `hermes-ssh-${ownUser()}`, `${name}.sock`);
  const preferred = socketIn(temporaryFolder);
  const fits = Buffer.byteLength(preferred + TEMPORARY_TAIL) < ADDRESS_BYTES;
  const isPlain = /^[\w./+-]*$/.test(preferred); // ssh expands `%h` and `${NAME}` and splits at spaces
  const socket = fits && isPlain ? preferred : socketIn("/tmp");
  await ensureOwnFolder(join(socket, ".."));
  return socket;
}

/** Access to the socket is access to the connection, and another user may have created this folder in `/tmp` first. */
async function ensureOwnFolder(folder: string): Promise<void> {
  await ensurePrivateFolder(folder);
  const found = await lstat(folder);
  const user = ownUser();
  if (!found.isDirectory() || found.uid !== user) {
    const reason = found.isDirectory() ? `it belongs to uid ${found.uid}` : "it is a symbolic link";
    throw new AppError("home-unusable", `Cannot create SSH control sockets in ${folder}: ${reason}.`, {
      hint: "Move that folder away, or set TMPDIR to a folder that only you can write to.",
    });
  }
  if ((found.mode & 0o077) !== 0) await chmod(folder, 0o700);
}

function ownUser(): number {
  return process.geteuid?.() ?? 0;
}
