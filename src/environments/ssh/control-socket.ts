import { createHash } from "node:crypto";
import { chmod, lstat } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files.ts";

/** A socket's address has this many bytes on the strictest system, the closing NUL included. */
const ADDRESS_BYTES = 104;
/** ssh makes the socket under a name with such a tail first, so that only a working one gets the final name. */
const TEMPORARY_TAIL = ".XXXXXXXXXXXXXXXX";

/**
 * Where the shared connection of an identity has its socket: in a folder that only we can enter, below the temporary
 * folder, or below `/tmp` where that one's name is too long or would be read by ssh as more than a name.
 */
export async function ensureControlSocket(
  identity: readonly unknown[],
  temporaryFolder: string,
): Promise<string> {
  const name = createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 16);
  const socketBelow = (folder: string) => join(folder, `hermes-ssh-${ownUser()}`, `${name}.sock`);
  const preferred = socketBelow(temporaryFolder);
  const fits = Buffer.byteLength(preferred + TEMPORARY_TAIL) < ADDRESS_BYTES;
  const isPlain = /^[\w./+-]*$/.test(preferred); // ssh expands `%h` and `${NAME}` and splits at spaces
  const socket = fits && isPlain ? preferred : socketBelow("/tmp");
  await ensureOwnFolder(join(socket, ".."));
  return socket;
}

/** Whoever can reach the socket can use the connection, and `/tmp` is open to all: a stranger may have been first. */
async function ensureOwnFolder(folder: string): Promise<void> {
  await ensurePrivateFolder(folder);
  const found = await lstat(folder);
  const user = ownUser();
  if (!found.isDirectory() || found.uid !== user) {
    const what = found.isDirectory()
      ? `it belongs to the user with uid ${found.uid}`
      : "it is a symbolic link";
    throw new AppError("home-unusable", `Cannot keep SSH connections in ${folder}: ${what}.`, {
      hint: "Move it away, or set TMPDIR to a folder that only you can write to.",
    });
  }
  if ((found.mode & 0o077) !== 0) await chmod(folder, 0o700);
}

function ownUser(): number {
  return process.geteuid?.() ?? 0;
}
