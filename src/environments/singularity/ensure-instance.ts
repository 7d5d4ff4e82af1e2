import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { withFileLock } from "../../lib/files/file-lock.ts";
import { ensurePrivateFolder } from "../../lib/files/files.ts";
import { type ProcessResult, runProcess } from "../../lib/process/process.ts";
import { type Engine, formatFailure, noticeOnce, succeeded } from "../docker/engine/engine.ts";
import type { Reporter } from "../environment-request.ts";
import { entryFlags, findInstance, type Instance, stopInstance } from "./instance.ts";
import { ensureImage, type ImageBuilder, locateImage } from "./instance-image.ts";
import type { InstanceSpec } from "./instance-spec.ts";
import { createStartHint } from "./start-hint.ts";

const START_TIMEOUT_MS = 120_000;
const MEASURE_MS = 5_000; // not worth a longer wait
const KIB_PER_GB = 1_000_000_000 / 1_024;
const CLEANUP_MS = 65_000; // longer than stopping and listing together
/** Longer than another process needs to start an instance, first with limits and then without. */
const LOCK_DEADLINE_MS = 2 * START_TIMEOUT_MS + CLEANUP_MS;

/**
 * Finds the running instance of a spec or starts one. All processes that request the same profile and task get the same
 * instance, even concurrently.
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
  const attachOrStart = async (): Promise<Instance> =>
    (await attach(builder.engine, spec, reporter, signal)) ??
    start(builder.engine, spec, image, reporter, signal);
  return spec.isShared ? withInstanceLock(spec, attachOrStart, signal) : attachOrStart();
}

/** Locks out other processes during an action, because the program itself checks and starts without a lock. */
export async function withInstanceLock<Result>(
  { name, scratchFolder }: Pick<InstanceSpec, "name" | "scratchFolder">,
  action: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const path = join(scratchFolder, "hermes-locks", `${name}.lock`);
  await ensurePrivateFolder(dirname(path));
  return withFileLock({ path, deadlineMs: LOCK_DEADLINE_MS }, action, signal);
}

async function attach(engine: Engine, spec: InstanceSpec, reporter: Reporter, signal: AbortSignal) {
  if (!spec.isShared) return undefined;
  const found = await findInstance(engine, spec.name, signal);
  if (found === undefined) return undefined;
  const wanted = await locateImage(spec.image, spec.cacheFolder);
  const real = await realpath(wanted).catch(() => wanted); // a built image may have been removed since
  if (found.image !== wanted && found.image !== real) {
    reporter.onNotice(
      `The instance ${spec.name} runs from ${found.image} and not from ${wanted}, the image in the settings. To use the new image, stop it with \`${engine.binary} instance stop ${spec.name}\`.`,
    );
  }
  return found;
}

/** Creates the folders that the instance writes to; a failure names the setting to change. */
async function prepareFolders({ overlayFolder, keptFolders }: InstanceSpec): Promise<void> {
  const folders = [overlayFolder, ...Object.values(keptFolders ?? {})].filter((path) => path !== undefined);
  try {
    for (const folder of folders) await ensurePrivateFolder(folder);
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw new AppError(
      "sandbox-unavailable",
      `The files of the instance cannot be stored. ${cause.message}`,
      {
        hint: `Set terminal.scratch_dir to a folder that you can write to, or terminal.container_persistent to false. ${cause.hint}`,
        cause,
      },
    );
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
  let started = await tryToStart(engine, spec, startArguments(spec, image, limits), signal);
  if ("complaint" in started && limits.length > 0) {
    // Only a start without limits shows whether the limits are the cause.
    const refusal = started.complaint;
    started = await tryToStart(engine, spec, startArguments(spec, image, []), signal);
    if (!("complaint" in started)) {
      noticeOnce(
        engine,
        `The instance runs without limits on CPU and memory, because ${engine.binary} refuses them on this machine: ${refusal}`,
        reporter,
      );
    }
  }
  if ("complaint" in started) {
    throw new AppError(
      "sandbox-unavailable",
      `Cannot start an instance from ${image}: ${started.complaint}`,
      {
        hint: await createStartHint(spec, engine.binary),
      },
    );
  }
  if (spec.asRoot) {
    noticeOnce(
      engine,
      "Hermes runs as root, so root in the instance is root on this machine with fewer capabilities. Run Hermes as an ordinary user for stronger isolation.",
      reporter,
    );
  }
  await reportFullScratch(engine, spec, reporter, signal);
  return started;
}

async function tryToStart(engine: Engine, spec: InstanceSpec, args: readonly string[], signal: AbortSignal) {
  try {
    const result = await engine.run(args, START_TIMEOUT_MS, signal);
    // A process without our lock, for example with another scratch folder, may have started it first; use that instance.
    const found = result.timedOut ? undefined : await findInstance(engine, spec.name, signal);
    if (found !== undefined && (succeeded(result) || spec.isShared)) return found;
    if (result.timedOut) await stopInstance(engine, spec.name, AbortSignal.timeout(CLEANUP_MS));
    return { complaint: succeeded(result) ? "it exited at once" : reasonOf(result) };
  } catch (error) {
    // A shared instance that is still starting is found by the next process; an unshared one would be left behind.
    if (!spec.isShared) await stopInstance(engine, spec.name, AbortSignal.timeout(CLEANUP_MS));
    throw error;
  }
}

/** The program's FATAL line without the cleanup messages around it; all lines if there is none. */
function reasonOf(result: ProcessResult): string {
  const lines = formatFailure(result).split("\n");
  return lines.find((line) => line.startsWith("FATAL")) ?? lines.join(" ");
}

/** Flags for the limits of a spec, which not every machine and version supports. */
function limitFlags({ cpus, memoryMb }: Pick<InstanceSpec, "cpus" | "memoryMb">): readonly string[] {
  return [
    ...(memoryMb > 0 ? ["--memory", `${memoryMb}M`] : []),
    ...(cpus > 0 ? ["--cpus", String(cpus)] : []),
  ];
}

/** The arguments that start the instance of a spec. */
function startArguments(spec: InstanceSpec, image: string, limits: readonly string[]): string[] {
  const { overlayFolder, keptFolders } = spec;
  return [
    "instance",
    "start",
    "--containall",
    "--no-home",
    ...entryFlags(spec),
    ...(overlayFolder === undefined ? ["--writable-tmpfs"] : ["--overlay", overlayFolder]),
    ...(keptFolders === undefined
      ? ["--scratch", "/root", "--scratch", "/workspace"]
      : Object.entries(keptFolders).flatMap(([target, source]) => ["--bind", `${source}:${target}`])),
    ...limits,
    image,
    spec.name,
  ];
}

/** Warns if the persistent files of all instances exceed the setting, because their size cannot be limited. */
async function reportFullScratch(
  engine: Engine,
  { scratchFolder, diskWarningGb, overlayFolder }: InstanceSpec,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  if (overlayFolder === undefined) return;
  const folders = ["hermes-overlays", "hermes-files"].map((name) => join(scratchFolder, name));
  const call = { env: engine.env, timeoutMs: MEASURE_MS };
  const { stdout } = await runProcess(["du", "-skx", ...folders], call, signal);
  const sizes = stdout.split("\n").map((line) => Number.parseInt(line, 10));
  const gigabytes = sizes.reduce((sum, size) => sum + (Number.isNaN(size) ? 0 : size), 0) / KIB_PER_GB;
  if (gigabytes <= diskWarningGb) return;
  noticeOnce(
    engine,
    `The files of instances below ${scratchFolder} take ${Math.round(gigabytes)} GB, more than terminal.disk_warning_gb (${diskWarningGb}).`,
    reporter,
  );
}
