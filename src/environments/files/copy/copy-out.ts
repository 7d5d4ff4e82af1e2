import { chmod, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { errnoOf } from "../../../lib/errors.ts";
import type { TargetPath } from "../../environment.ts";
import { createFileProblem } from "../file-problem.ts";
import { STAT_SCRIPT } from "../file-scripts.ts";
import { type FileNumbers, parseFileNumbers } from "../read-bytes.ts";
import type { RunFileScript } from "../run-file-script.ts";
import { COPY_TIMEOUT_MS } from "./copy-in.ts";
import {
  type Copied,
  type CopyOptions,
  type CopyProblem,
  type HostPath,
  problemHere,
  problemOfError,
  problemThere,
} from "./copy-outcome.ts";
import { PACK_SCRIPT, SEND_SCRIPT } from "./copy-scripts.ts";
import { ArchiveRefused, createTarReader } from "./read-tar.ts";
import { createTemporaryName, isOwnerDead, isTemporaryName } from "./temporary-name.ts";
import { openFolderUnpacker } from "./unpack-folder.ts";

const ABANDONED_MS = 24 * 3_600_000;

/**
 * Copies a file or a whole folder of an environment to our machine. It is there whole or not at all: a file replaces a
 * file, a folder takes only a free name. Whatever the environment sends, nothing outside of the name is touched.
 */
export async function copyOut(
  run: RunFileScript,
  from: TargetPath,
  to: HostPath,
  options: CopyOptions,
  signal: AbortSignal,
): Promise<Copied | CopyProblem> {
  const found = await run({ script: STAT_SCRIPT, path: from }, signal);
  if (found.kind !== "done") return problemThere(found);
  const type = found.facts.get("type");
  if (type !== "file" && type !== "folder") return problemThere(createFileProblem("not-regular", found.path));
  const numbers = parseFileNumbers(found.facts.get("facts"));
  if (type === "file" && numbers.size > (options.maxBytes ?? Infinity)) return tooLarge(from, options);
  const target = resolve(to);
  const temporary = join(dirname(target), await createTemporaryName(signal));
  try {
    const taken = await findTaken(target, type);
    if (taken !== undefined) return taken;
    await mkdir(dirname(target), { recursive: true });
    await sweepAbandoned(dirname(target), signal);
    const transfer = { run, from, target, temporary, options };
    return type === "file"
      ? await receiveFile(transfer, numbers, signal)
      : await receiveFolder(transfer, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof ArchiveRefused) {
      return problemThere(createFileProblem("archive-refused", from, error.message));
    }
    return problemOfError(error, to);
  } finally {
    await removeTree(temporary);
  }
}

async function findTaken(target: HostPath, type: "file" | "folder"): Promise<CopyProblem | undefined> {
  const there = await unlessMissing(type === "file" ? stat(target) : lstat(target));
  if (there === undefined) return undefined;
  if (type === "folder") return problemHere("exists", target);
  if (there.isDirectory()) return problemHere("is-folder", target);
  return there.isFile() ? undefined : problemHere("not-regular", target);
}

interface Transfer {
  readonly run: RunFileScript;
  readonly from: TargetPath;
  readonly target: HostPath;
  readonly temporary: HostPath;
  readonly options: CopyOptions;
}

async function receiveFile(
  { run, from, target, temporary, options }: Transfer,
  { mode }: FileNumbers,
  signal: AbortSignal,
): Promise<Copied | CopyProblem> {
  const file = await open(temporary, "wx", 0o600);
  let bytes: number | CopyProblem;
  try {
    const take = async (chunk: Uint8Array) => {
      for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
    };
    bytes = await receive({ run, from, script: SEND_SCRIPT, options, take }, signal);
    if (typeof bytes !== "number") return bytes;
    await file.chmod(mode & 0o777);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, target);
  return { kind: "copied", path: target, type: "file", files: 1, bytes, skipped: 0, skippedNames: [] };
}

async function receiveFolder(
  { run, from, target, temporary, options }: Transfer,
  signal: AbortSignal,
): Promise<Copied | CopyProblem> {
  await mkdir(temporary, { mode: 0o700 });
  await using unpacker = openFolderUnpacker(temporary);
  const reader = createTarReader(unpacker);
  const take = (chunk: Uint8Array) => reader.push(chunk);
  const bytes = await receive({ run, from, script: PACK_SCRIPT, options, take }, signal);
  if (typeof bytes !== "number") return bytes;
  if (!reader.isComplete) return problemThere(createFileProblem("incomplete", from));
  await unpacker.complete();
  // A folder never replaces anything but an empty one, which somebody may have made meanwhile.
  await rename(temporary, target);
  const { files, skipped } = unpacker;
  return {
    kind: "copied",
    path: target,
    type: "folder",
    files,
    bytes,
    skipped: skipped.count,
    skippedNames: skipped.names,
  };
}

interface Receiving {
  readonly run: RunFileScript;
  readonly from: TargetPath;
  readonly script: string;
  readonly options: CopyOptions;
  /** While it has not resolved, nothing more is sent. */
  take(chunk: Uint8Array): Promise<void>;
}

/** How many bytes came, all of them taken; ends the sender as soon as taking fails or the limit is reached. */
async function receive(
  { run, from, script, options, take }: Receiving,
  signal: AbortSignal,
): Promise<number | CopyProblem> {
  const stop = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  let bytes = 0;
  let taken: Promise<void> = Promise.resolve();
  const onStdout = (chunk: Uint8Array): Promise<void> => {
    const own = Buffer.from(chunk);
    bytes += own.length;
    if (bytes > (options.maxBytes ?? Infinity)) stop.abort();
    taken = taken.then(async () => {
      if (stop.signal.aborted) return;
      try {
        await take(own);
        options.onBytes?.(own.length);
      } catch (error) {
        failure = { error };
        stop.abort();
      }
    });
    return taken;
  };
  const path = { script, path: from, timeoutMs: COPY_TIMEOUT_MS, onStdout };
  const result = await run(path, AbortSignal.any([signal, stop.signal])).catch((error: unknown) => {
    if (signal.aborted || !stop.signal.aborted) throw error;
    return undefined;
  });
  await taken;
  if (failure !== undefined) throw failure.error;
  if (stop.signal.aborted) return tooLarge(from, options);
  if (result === undefined || (result.kind === "done" && !result.facts.has("done"))) {
    return problemThere(createFileProblem("incomplete", from));
  }
  return result.kind === "done" ? bytes : problemThere(result);
}

function tooLarge(path: TargetPath, { maxBytes }: CopyOptions): CopyProblem {
  return problemThere(createFileProblem("too-large", path, `at most ${maxBytes} bytes are copied`));
}

/** Removes what a process that was killed in the middle left beside the target. */
async function sweepAbandoned(folder: HostPath, signal: AbortSignal): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!isTemporaryName(name)) continue;
    const path = join(folder, name);
    const there = await unlessMissing(lstat(path));
    if (there === undefined) continue;
    const isAbandoned = Date.now() - there.mtimeMs > ABANDONED_MS || (await isOwnerDead(name, signal));
    // What another user left in a shared folder is no reason not to copy.
    if (isAbandoned) await removeTree(path).catch(() => undefined);
  }
}

async function removeTree(path: HostPath): Promise<void> {
  const there = await lstat(path).catch(() => undefined); // then there is nothing to remove
  if (there === undefined) return;
  if (there.isDirectory()) await chmod(path, 0o700);
  await rm(path, { recursive: true, force: true, maxRetries: 3 });
}

async function unlessMissing<Result>(asked: Promise<Result>): Promise<Result | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
