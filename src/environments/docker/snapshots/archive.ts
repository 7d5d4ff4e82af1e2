import { open } from "node:fs/promises";
import { runProcess } from "../../../lib/process/process.ts";
import { callFailed, type Engine, formatFailure } from "../engine/engine.ts";
import { LAST_USE_FILE } from "../lifecycle/last-use.ts";

const STREAM_TIMEOUT_MS = 30 * 60 * 1_000;
/** A complete tar file ends with two empty blocks; a truncated one does not. */
const END_BYTES = 1_024;

/** The shell redirects the client's output to a file, so that it does not pass through our memory. */
const INTO_FILE = 'umask 077; file=$1; shift; exec "$@" >"$file"';
const FROM_FILE = 'file=$1; shift; exec "$@" <"$file"';

/** Deletes the state of the source sandbox after unpacking: the stamp of its last use, and the records of its jobs. */
const UNPACK = `tar xf - -C / && rm -rf ${LAST_USE_FILE} /tmp/hermes-jobs-*`;
const HAS_TAR = "command -v tar >/dev/null";

/** Whether the sandbox can pack and unpack its own files. */
export async function canArchive(engine: Engine, id: string, signal: AbortSignal): Promise<boolean> {
  const result = await engine.run(["exec", id, "sh", "-c", HAS_TAR], 30_000, signal);
  return result.exitCode === 0;
}

/**
 * Packs paths of a running sandbox into a file on the host. Root of the sandbox reads the files, so any owner works. Returns
 * tar's error about files that it could not read; undefined when it read all files.
 */
export async function archivePaths(
  engine: Engine,
  id: string,
  paths: readonly string[],
  file: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const relative = paths.map((path) => path.slice(1));
  const pack = [engine.binary, "exec", "--user", "0", id, "tar", "cf", "-", "-C", "/", ...relative];
  const result = await runProcess(
    ["/bin/sh", "-c", INTO_FILE, "sh", file, ...pack],
    { env: engine.env, timeoutMs: STREAM_TIMEOUT_MS },
    signal,
  );
  // tar exits with 1 when a file changed or vanished while it was read, which is normal in a sandbox that is in use.
  // The end of the archive shows whether it is complete.
  if ((result.exitCode === 0 || result.exitCode === 1) && !result.timedOut && (await isComplete(file))) {
    return result.exitCode === 0 ? undefined : formatFailure(result);
  }
  throw callFailed(`Cannot copy ${paths.join(", ")} of the sandbox`, result);
}

/** Unpacks a file of `archivePaths` into a running sandbox. */
export async function unpackArchive(
  engine: Engine,
  id: string,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const unpack = [engine.binary, "exec", "-i", "--user", "0", id, "sh", "-c", UNPACK];
  const result = await runProcess(
    ["/bin/sh", "-c", FROM_FILE, "sh", file, ...unpack],
    { env: engine.env, timeoutMs: STREAM_TIMEOUT_MS },
    signal,
  );
  if (result.exitCode === 0 && !result.timedOut) return;
  throw callFailed("Cannot unpack the files in the new sandbox", result);
}

async function isComplete(path: string): Promise<boolean> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  if (size < END_BYTES) return false;
  const { buffer } = await file.read({ buffer: Buffer.alloc(END_BYTES, 1), position: size - END_BYTES });
  return buffer.every((byte) => byte === 0);
}
