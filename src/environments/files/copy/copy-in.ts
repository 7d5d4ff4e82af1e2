import { randomBytes } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { errnoOf } from "../../../lib/errors.ts";
import type { TargetPath } from "../../environment.ts";
import { createFileProblem } from "../file-problem.ts";
import { WRITE_SCRIPT } from "../file-scripts.ts";
import type { FileScript, RunFileScript } from "../run-file-script.ts";
import {
  type Copied,
  type CopyOptions,
  type CopyProblem,
  createSkipList,
  type HostPath,
  problemHere,
  problemOfError,
  problemThere,
} from "./copy-outcome.ts";
import { UNPACK_SCRIPT } from "./copy-scripts.ts";
import { openSource, packFolder, SourceChanged } from "./pack-folder.ts";

/** A copy takes as long as it takes; this only ends one that hangs for ever. */
export const COPY_TIMEOUT_MS = 24 * 3_600_000;

/**
 * Copies a file or a whole folder of our machine into an environment. It is there whole or not at all: a file replaces a
 * file, a folder takes only a free name. Modes are kept, links in a folder stay links.
 */
export async function copyIn(
  run: RunFileScript,
  from: HostPath,
  to: TargetPath,
  options: CopyOptions,
  signal: AbortSignal,
): Promise<Copied | CopyProblem> {
  signal.throwIfAborted();
  try {
    const source = await realpath(from); // a link that a person names is followed
    const stats = await stat(source);
    if (stats.isDirectory()) return await copyFolderIn(run, source, to, options, signal);
    if (stats.isFile()) return await copyFileIn(run, source, to, options, signal);
    return problemHere("not-regular", from);
  } catch (error) {
    if (signal.aborted) throw error;
    return problemOfError(error, from);
  }
}

async function copyFileIn(
  run: RunFileScript,
  from: HostPath,
  to: TargetPath,
  options: CopyOptions,
  signal: AbortSignal,
): Promise<Copied | CopyProblem> {
  await using source = await openSource(from);
  const { size, mode } = source.stats;
  if (size > (options.maxBytes ?? Infinity)) return tooLarge(from, options);
  const args = [randomBytes(8).toString("hex"), `${size}`, octal(mode), ""];
  const input = source.read(size);
  const sent = await send(run, { script: WRITE_SCRIPT, path: to, args }, { from, input, options }, signal);
  if (sent.kind !== "done") return sent;
  return {
    kind: "copied",
    path: sent.path,
    type: "file",
    files: 1,
    bytes: size,
    skipped: 0,
    skippedNames: [],
  };
}

async function copyFolderIn(
  run: RunFileScript,
  from: HostPath,
  to: TargetPath,
  options: CopyOptions,
  signal: AbortSignal,
): Promise<Copied | CopyProblem> {
  const skipped = createSkipList();
  const progress = { files: 0, bytes: 0, skipped };
  const script = { script: UNPACK_SCRIPT, path: to, args: [randomBytes(8).toString("hex")] };
  const input = packFolder(from, progress);
  const sent = await send(run, script, { from, input, options }, signal);
  if (sent.kind !== "done") return sent;
  const { files, bytes } = progress;
  return {
    kind: "copied",
    path: sent.path,
    type: "folder",
    files,
    bytes,
    skipped: skipped.count,
    skippedNames: skipped.names,
  };
}

interface Sending {
  readonly from: HostPath;
  readonly input: AsyncIterable<Uint8Array>;
  readonly options: CopyOptions;
}

class LimitReached extends Error {}

/** Runs a script on a stream of ours. If the stream fails the script gets a short one, notices that and undoes its work. */
async function send(
  run: RunFileScript,
  script: Omit<FileScript, "stdin">,
  { from, input, options }: Sending,
  signal: AbortSignal,
): Promise<{ readonly kind: "done"; readonly path: TargetPath } | CopyProblem> {
  let failure: { readonly error: unknown } | undefined;
  async function* watched(): AsyncGenerator<Uint8Array> {
    let total = 0;
    try {
      for await (const chunk of input) {
        total += chunk.length;
        if (total > (options.maxBytes ?? Infinity)) throw new LimitReached();
        yield chunk;
        options.onBytes?.(chunk.length);
      }
    } catch (error) {
      failure = { error };
    }
  }
  const result = await run({ ...script, stdin: watched(), timeoutMs: COPY_TIMEOUT_MS }, signal);
  if (failure !== undefined) {
    const { error } = failure;
    if (error instanceof LimitReached) return tooLarge(from, options);
    if (error instanceof SourceChanged) return problemHere("changed-meanwhile", from);
    const path =
      errnoOf(error) !== undefined && error instanceof Error && "path" in error ? error.path : from;
    return problemOfError(error, `${path}`);
  }
  if (result.kind !== "done") return problemThere(result);
  if (!result.facts.has("done")) return problemThere(createFileProblem("incomplete", result.path));
  return { kind: "done", path: result.path };
}

function tooLarge(path: HostPath, { maxBytes }: CopyOptions): CopyProblem {
  return problemHere("too-large", path, `at most ${maxBytes} bytes are copied`);
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}
