import { randomBytes } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { errnoOf } from "../../../lib/errors.ts";
import type { TargetPath } from "../../environment.ts";
import { createFileProblem } from "../file-problem.ts";
import { WRITE_SCRIPT } from "../file-scripts.ts";
import type { RunFileScript } from "../run-file-script.ts";
import {
  type CompletedCopy,
  type CopyOptions,
  type CopyProblem,
  copiedFile,
  copiedFolder,
  createEnvironmentProblem,
  createHostProblem,
  createProgressReporter,
  createSkipList,
  type HostPath,
  problemOfError,
} from "./copy-outcome.ts";
import { UNPACK_SCRIPT } from "./copy-scripts.ts";
import { openSource, packFolder, SourceChanged } from "./pack-folder.ts";

/** Large copies take long; this limit only ends a copy that hangs forever. */
export const COPY_TIMEOUT_MS = 24 * 3_600_000;

/** One copy from this machine into an environment. */
interface CopyIntoJob {
  readonly run: RunFileScript;
  readonly from: HostPath;
  readonly to: TargetPath;
  readonly options: CopyOptions;
}

/**
 * Copies a file or a whole folder from this machine into an environment, atomically. A file replaces the content of an
 * existing file, which keeps its mode; a folder needs an unused name. New files get the mode of their source, and links
 * in a folder stay links.
 */
export async function copyIn(
  run: RunFileScript,
  from: HostPath,
  to: TargetPath,
  options: CopyOptions,
  signal: AbortSignal,
): Promise<CompletedCopy | CopyProblem> {
  signal.throwIfAborted();
  try {
    const source = await realpath(from); // follows a link that the caller names
    const stats = await stat(source);
    const sending = { run, from: source, to, options };
    if (stats.isDirectory()) return await copyFolderIn(sending, signal);
    if (stats.isFile()) return await copyFileIn(sending, signal);
    return createHostProblem("not-regular", from);
  } catch (error) {
    if (signal.aborted) throw error;
    return problemOfError(error, from);
  }
}

async function copyFileIn(sending: CopyIntoJob, signal: AbortSignal): Promise<CompletedCopy | CopyProblem> {
  await using source = await openSource(sending.from);
  const { size, mode } = source.stats;
  if (size > (sending.options.maxBytes ?? Infinity)) return tooLarge(sending);
  const octalMode = (mode & 0o777).toString(8).padStart(4, "0");
  const args = [randomBytes(8).toString("hex"), `${size}`, octalMode, "", "keep"];
  const progress = { bytes: 0 };
  const sent = await send(sending, WRITE_SCRIPT, args, source.read(size, progress), progress, signal);
  return sent.kind === "done" ? copiedFile(sent.path, size) : sent;
}

async function copyFolderIn(sending: CopyIntoJob, signal: AbortSignal): Promise<CompletedCopy | CopyProblem> {
  const progress = { files: 0, bytes: 0, skipped: createSkipList() };
  const args = [randomBytes(8).toString("hex")];
  const input = packFolder(sending.from, progress);
  const sent = await send(sending, UNPACK_SCRIPT, args, input, progress, signal);
  return sent.kind === "done" ? copiedFolder(sent.path, progress) : sent;
}

class LimitReached extends Error {}

/**
 * Runs a script with `input` as stdin; `progress` counts the file content that the input has produced. If the input fails,
 * the script receives a truncated stream and undoes its work.
 */
async function send(
  { run, from, to, options }: CopyIntoJob,
  script: string,
  args: readonly string[],
  input: AsyncIterable<Uint8Array>,
  progress: { readonly bytes: number },
  signal: AbortSignal,
): Promise<{ readonly kind: "done"; readonly path: TargetPath } | CopyProblem> {
  let failure: { readonly error: unknown } | undefined;
  async function* countedInput(): AsyncGenerator<Uint8Array> {
    let total = 0;
    const reportProgress = createProgressReporter(options, () => progress.bytes);
    try {
      for await (const chunk of input) {
        total += chunk.length;
        if (total > (options.maxBytes ?? Infinity)) throw new LimitReached();
        yield chunk;
        reportProgress();
      }
    } catch (error) {
      failure = { error };
    }
  }
  const result = await run(
    { script, path: to, args, stdin: countedInput(), timeoutMs: COPY_TIMEOUT_MS },
    signal,
  );
  if (failure !== undefined) {
    const { error } = failure;
    if (error instanceof LimitReached) return tooLarge({ from, options });
    if (error instanceof SourceChanged) return createHostProblem("changed-meanwhile", from);
    const isOfPath = errnoOf(error) !== undefined && error instanceof Error && "path" in error;
    return problemOfError(error, isOfPath ? `${error.path}` : from);
  }
  if (result.kind !== "done") return createEnvironmentProblem(result);
  if (result.facts.has("done")) return result;
  return createEnvironmentProblem(createFileProblem("incomplete", result.path));
}

function tooLarge({ from, options }: Pick<CopyIntoJob, "from" | "options">): CopyProblem {
  return createHostProblem("too-large", from, `the limit is ${options.maxBytes} bytes`);
}
