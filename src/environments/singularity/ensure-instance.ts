import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { withFileLock } from "../../lib/file-lock.ts";
import { ensurePrivateFolder } from "../../lib/files.ts";
import type { ProcessResult } from "../../lib/process.ts";
import { complaintOf, type Engine, noticeOnce, succeeded } from "../docker/engine.ts";
import type { Reporter } from "../environment-request.ts";
import { findInstance, type Instance, stopInstance } from "./instance.ts";
import { ensureImage, type ImageBuilder, locateImage } from "./instance-image.ts";
import type { InstanceSpec } from "./instance-spec.ts";
import { limitFlags, startArguments } from "./start-arguments.ts";
import { startHint } from "./start-hint.ts";
import { warnOfFullScratch } from "./warn-of-full-scratch.ts";

const START_TIMEOUT_MS = 120_000;
const CLEANUP_MS = 65_000; // longer than stopping and looking may take together
/** Whoever waits outlasts the one who starts an instance, with limits and without. */
const LOCK_DEADLINE_MS = 2 * START_TIMEOUT_MS + CLEANUP_MS;

/**
 * The running instance of a spec: the one that is there, or a new one. All processes that ask for the same pair get the
 * same one, however many ask at once.
 */
export async function ensureInstance(
  builder: ImageBuilder,
  spec: InstanceSpec,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<Instance> {
  const attached = await attach(builder.engine, spec, reporter, signal);
  if (attached !== undefined) return attached;
  const image = await ensureImage(builder, spec, reporter, signal);
  await prepareFolders(spec);
  const begin = async (): Promise<Instance> =>
    (await attach(builder.engine, spec, reporter, signal)) ??
    start(builder.engine, spec, image, reporter, signal);
  return spec.isShared ? whileNobodyElse(spec, begin, signal) : begin();
}

/** Does something while no other process starts or ends the instance: the program itself looks before it leaps. */
export async function whileNobodyElse<Result>(
  { name, scratchFolder }: Pick<InstanceSpec, "name" | "scratchFolder">,
  action: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const path = join(scratchFolder, "hermes-locks", `${name}.lock`);
  await ensurePrivateFolder(dirname(path));
  return withFileLock({ path, deadlineMs: LOCK_DEADLINE_MS }, action, signal);
}

async function attach(
  engine: Engine,
  spec: InstanceSpec,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<Instance | undefined> {
  if (!spec.isShared) return undefined;
  const found = await findInstance(engine, spec.name, signal);
  if (found === undefined) return undefined;
  const wanted = await locateImage(spec.image, spec.cacheFolder);
  const real = await realpath(wanted).catch(() => wanted); // an image that was made may have been removed since
  if (found.image !== wanted && found.image !== real) {
    reporter.onNotice(
      `The instance ${spec.name} runs from ${found.image} and not from ${wanted}, as the settings say. It is kept until it is stopped: \`${engine.binary} instance stop ${spec.name}\`.`,
    );
  }
  return found;
}

/** Makes the folders that the instance writes to, and says which setting leads elsewhere when they cannot be used. */
async function prepareFolders({ overlayFolder, keptFolders }: InstanceSpec): Promise<void> {
  const folders = [overlayFolder, ...Object.values(keptFolders ?? {})].filter((path) => path !== undefined);
  try {
    for (const folder of folders) await ensurePrivateFolder(folder);
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw new AppError("sandbox-unavailable", `The files of the instance cannot be kept. ${cause.message}`, {
      hint: `Set terminal.scratch_dir to a folder that you can write to, or terminal.container_persistent to false. ${cause.hint}`,
      cause,
    });
  }
}

async function start(
  engine: Engine,
  spec: InstanceSpec,
  image: string,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<Instance> {
  const limits = limitFlags(spec);
  let made = await tryToStart(engine, spec, startArguments(spec, image, limits), signal);
  if ("complaint" in made && limits.length > 0) {
    // Only by doing it can one tell whether the limits are to blame.
    const refused = made.complaint;
    made = await tryToStart(engine, spec, startArguments(spec, image, []), signal);
    if (!("complaint" in made)) {
      noticeOnce(
        engine,
        `The instance runs without limits of CPU and memory, which ${engine.binary} refuses here: ${refused}`,
        reporter,
      );
    }
  }
  if ("complaint" in made) {
    throw new AppError("sandbox-unavailable", `Cannot start an instance from ${image}: ${made.complaint}`, {
      hint: await startHint(spec, engine.binary),
    });
  }
  if (spec.asRoot) {
    noticeOnce(
      engine,
      "Hermes runs as root, so root in the instance is root of this machine with fewer capabilities. Run it as an ordinary user for stronger isolation.",
      reporter,
    );
  }
  await warnOfFullScratch(engine, spec, reporter, signal);
  return made;
}

async function tryToStart(
  engine: Engine,
  spec: InstanceSpec,
  args: readonly string[],
  signal: AbortSignal,
): Promise<Instance | { readonly complaint: string }> {
  try {
    const result = await engine.run(args, { timeoutMs: START_TIMEOUT_MS }, signal);
    // Whoever was quicker without our lock, on another scratch folder say, has the name: theirs is as good.
    const found = result.timedOut ? undefined : await findInstance(engine, spec.name, signal);
    if (found !== undefined && (succeeded(result) || spec.isShared)) return found;
    if (result.timedOut) await stopInstance(engine, spec.name, AbortSignal.timeout(CLEANUP_MS));
    return { complaint: succeeded(result) ? "it ended at once" : reasonOf(result) };
  } catch (error) {
    // A shared one that is just appearing is found by the next who asks; nobody would ever ask for ours.
    if (!spec.isShared) await stopInstance(engine, spec.name, AbortSignal.timeout(CLEANUP_MS));
    throw error;
  }
}

/** The line that the program itself calls fatal, for a person to read: around it there is noise of its cleaning up. */
function reasonOf(result: ProcessResult): string {
  const lines = complaintOf(result).split("\n");
  return lines.find((line) => line.startsWith("FATAL")) ?? lines.join(" ");
}
