import { chmod, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { followLinks } from "../../../lib/files/files.ts";
import { unlessMissing } from "../../../lib/files/unless-missing.ts";
import type { TargetPath } from "../../environment.ts";
import { createFileProblem } from "../file-problem.ts";
import { STAT_SCRIPT } from "../file-scripts.ts";
import { type FileStats, parseFileStats } from "../read-bytes.ts";
import type { RunFileScript } from "../run-file-script.ts";
import { COPY_TIMEOUT_MS } from "./copy-in.ts";
import {
  type CompletedCopy,
  type CopyOptions,
  type CopyProblem,
  copiedFile,
  copiedFolder,
  createEnvironmentProblem,
  createHostProblem,
  createProgressReporter,
  type HostPath,
  problemOfError,
} from "./copy-outcome.ts";
import { PACK_SCRIPT, SEND_SCRIPT } from "./copy-scripts.ts";
import { ArchiveRefused, createTarReader } from "./read-tar.ts";
import { createTemporaryName, hasOwnerExited, isTemporaryName } from "./temporary-name.ts";
import { openFolderUnpacker } from "./unpack-folder.ts";

const ABANDONED_MS = 24 * 3_600_000;

/**
 * Copies a file or a whole folder from an environment to this machine, atomically. A file replaces the content of an
 * existing file, which keeps its mode; a folder needs an unused name. Whatever the environment sends, no path outside of
 * the target is touched.
 */
export async function copyOut(
  run: RunFileScript,
  from: TargetPath,
  to: HostPath,
  options: CopyOptions,
  signal: AbortSignal,
): Promise<CompletedCopy | CopyProblem> {
  const found = await run({ script: STAT_SCRIPT, path: from }, signal);
  if (found.kind !== "done") return createEnvironmentProblem(found);
  const type = found.facts.get("type");
  if (type !== "file" && type !== "folder")
    return createEnvironmentProblem(createFileProblem("not-regular", found.path));
  const numbers = parseFileStats(found.facts.get("facts"));
  if (type === "file" && numbers.size > (options.maxBytes ?? Infinity)) return tooLarge(from, options);
  let temporary: HostPath | undefined;
  try {
    const target = type === "file" ? await followTarget(resolve(to)) : resolve(to);
    temporary = join(dirname(target), await createTemporaryName(signal));
    const conflict = await findConflict(target, type);
    if (conflict !== undefined) return conflict;
    await mkdir(dirname(target), { recursive: true });
    await sweepAbandoned(dirname(target), signal);
    const transfer = { run, from, target, temporary, options };
    return type === "file"
      ? await receiveFile(transfer, numbers, signal)
      : await receiveFolder(transfer, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof ArchiveRefused) {
      return createEnvironmentProblem(createFileProblem("archive-refused", from, error.message));
    }
    return problemOfError(error, to);
  } finally {
    if (temporary !== undefined) await removeTree(temporary);
  }
}

/** As in `cp`, a file is written through links. Throws if the path is an open stream, whose file must not be replaced. */
async function followTarget(path: HostPath): Promise<HostPath> {
  return (await unlessMissing(lstat(path))) === undefined ? path : followLinks(path);
}

async function findConflict(target: HostPath, type: "file" | "folder"): Promise<CopyProblem | undefined> {
  const existing = await unlessMissing(type === "file" ? stat(target) : lstat(target));
  if (existing === undefined) return undefined;
  if (type === "folder") return createHostProblem("exists", target);
  if (existing.isDirectory()) return createHostProblem("is-folder", target);
  return existing.isFile() ? undefined : createHostProblem("not-regular", target);
}

interface Transfer {
  readonly run: RunFileScript;
  readonly from: TargetPath;
  readonly target: HostPath;
  readonly temporary: HostPath;
  readonly options: CopyOptions;
}

async function receiveFile(transfer: Transfer, { mode }: FileStats, signal: AbortSignal) {
  const { target, temporary } = transfer;
  const file = await open(temporary, "wx", 0o600);
  let bytes = 0;
  try {
    const appendChunk = async (chunk: Uint8Array) => {
      await file.writeFile(chunk); // appends at the current position
      bytes += chunk.length;
    };
    const problem = await receive(transfer, SEND_SCRIPT, appendChunk, () => bytes, signal);
    if (problem !== undefined) return problem;
    const old = await unlessMissing(stat(target));
    if (old !== undefined && process.geteuid?.() === 0) await file.chown(old.uid, old.gid);
    await file.chmod((old?.mode ?? mode) & 0o777);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, target);
  return copiedFile(target, bytes);
}

async function receiveFolder(transfer: Transfer, signal: AbortSignal): Promise<CompletedCopy | CopyProblem> {
  const { from, target, temporary } = transfer;
  await mkdir(temporary, { mode: 0o700 });
  await using unpacker = openFolderUnpacker(temporary);
  const reader = createTarReader(unpacker);
  const problem = await receive(transfer, PACK_SCRIPT, reader.push, () => unpacker.bytes, signal);
  if (problem !== undefined) return problem;
  if (!reader.isComplete) return createEnvironmentProblem(createFileProblem("incomplete", from));
  await unpacker.complete();
  // The rename replaces at most an empty folder that another process created meanwhile.
  await rename(temporary, target);
  return copiedFolder(target, unpacker);
}

/**
 * Receives all chunks or returns a problem; stops the sender as soon as `take` fails or the limit is reached. The sender
 * waits for `take`. `bytesTaken` counts the file content, for the progress.
 */
async function receive(
  { run, from, options }: Transfer,
  script: string,
  take: (chunk: Uint8Array) => Promise<void>,
  bytesTaken: () => number,
  signal: AbortSignal,
): Promise<CopyProblem | undefined> {
  const stop = new AbortController();
  const reportProgress = createProgressReporter(options, bytesTaken);
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
        reportProgress();
      } catch (error) {
        failure = { error };
        stop.abort();
      }
    });
    return taken;
  };
  const sending = { script, path: from, timeoutMs: COPY_TIMEOUT_MS, onStdout };
  const result = await run(sending, AbortSignal.any([signal, stop.signal])).catch((error: unknown) => {
    if (signal.aborted || !stop.signal.aborted) throw error;
    return undefined;
  });
  await taken;
  if (failure !== undefined) throw failure.error;
  if (stop.signal.aborted) return tooLarge(from, options);
  if (result === undefined || (result.kind === "done" && !result.facts.has("done"))) {
    return createEnvironmentProblem(createFileProblem("incomplete", from));
  }
  return result.kind === "done" ? undefined : createEnvironmentProblem(result);
}

function tooLarge(path: TargetPath, { maxBytes }: CopyOptions): CopyProblem {
  return createEnvironmentProblem(createFileProblem("too-large", path, `the limit is ${maxBytes} bytes`));
}

/** Removes temporary files that killed processes left next to the target. */
async function sweepAbandoned(folder: HostPath, signal: AbortSignal): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!isTemporaryName(name)) continue;
    const path = join(folder, name);
    const existing = await unlessMissing(lstat(path));
    if (existing === undefined) continue;
    const isAbandoned = Date.now() - existing.mtimeMs > ABANDONED_MS || (await hasOwnerExited(name, signal));
    // A leftover of another user in a shared folder must not prevent the copy.
    if (isAbandoned) await removeTree(path).catch(() => undefined);
  }
}

async function removeTree(path: HostPath): Promise<void> {
  const existing = await lstat(path).catch(() => undefined); // nothing to remove
  if (existing === undefined) return;
  if (existing.isDirectory()) await chmod(path, 0o700);
  await rm(path, { recursive: true, force: true, maxRetries: 3 });
}
