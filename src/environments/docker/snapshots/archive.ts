import { open } from "node:fs/promises";
import { AppError } from "../../../lib/errors.ts";
import { runProcess } from "../../../lib/process.ts";
import { complaintOf, type Engine } from "../engine.ts";
import { LAST_USE_FILE } from "../last-use.ts";

const STREAM_TIMEOUT_MS = 30 * 60 * 1_000;
/** A tar file ends with two empty blocks; one that was cut short does not. */
const END_BYTES = 1_024;

/** Our client's output goes into a file without passing through our memory. */
const INTO_FILE = 'umask 077; file=$1; shift; exec "$@" >"$file"';
const FROM_FILE = 'file=$1; shift; exec "$@" <"$file"';

/** What belongs to the running sandbox and not to its files: who used it when, and jobs that run in no other one. */
const UNPACK = `tar xf - -C / && rm -rf ${LAST_USE_FILE} /tmp/hermes-jobs-*`;
const HAS_TAR = "command -v tar >/dev/null";

export interface Archived {
  /** What could not be read, for a person; undefined when all could. */
  readonly complaint: string | undefined;
}

/** Whether the sandbox can pack and unpack its own files. */
export async function canArchive(engine: Engine, id: string, signal: AbortSignal): Promise<boolean> {
  const result = await engine.run(["exec", id, "sh", "-c", HAS_TAR], { timeoutMs: 30_000 }, signal);
  return result.exitCode === 0;
}

/** Packs paths of a running sandbox into a file of ours; the sandbox's own root reads them, so owners do not matter. */
export async function archivePaths(
  engine: Engine,
  id: string,
  paths: readonly string[],
  file: string,
  signal: AbortSignal,
): Promise<Archived> {
  const relative = paths.map((path) => path.slice(1));
  const pack = [engine.binary, "exec", "--user", "0", id, "tar", "cf", "-", "-C", "/", ...relative];
  const result = await runProcess(
    ["/bin/sh", "-c", INTO_FILE, "sh", file, ...pack],
    { env: engine.env, timeoutMs: STREAM_TIMEOUT_MS },
    signal,
  );
  // Exit code 1 is also that of a file which changed or vanished while it was read, which in a place that is used
  // is no failure. Whether the archive is whole shows at its end.
  if ((result.exitCode === 0 || result.exitCode === 1) && !result.timedOut && (await isWhole(file))) {
    return { complaint: result.exitCode === 0 ? undefined : complaintOf(result) };
  }
  throw new AppError(
    "sandbox-unavailable",
    `Cannot copy ${paths.join(", ")} of the sandbox: ${complaintOf(result)}`,
  );
}

/** Unpacks such a file into a running sandbox. */
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
  throw new AppError(
    "sandbox-unavailable",
    `Cannot put the files into the new sandbox: ${complaintOf(result)}`,
  );
}

async function isWhole(path: string): Promise<boolean> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  if (size < END_BYTES) return false;
  const { buffer } = await file.read({ buffer: Buffer.alloc(END_BYTES, 1), position: size - END_BYTES });
  return buffer.every((byte) => byte === 0);
}
