import { basename, join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import { type Reporter, taskFlag } from "../../environment-request.ts";
import type { Engine } from "../engine/engine.ts";
import { parseJson } from "../engine/parse-json.ts";
import type { Container } from "../lifecycle/container.ts";
import { belongsTo, findSandbox } from "../lifecycle/find-sandbox.ts";
import { startContainer } from "../lifecycle/start-container.ts";
import type { Operation } from "../recovery/operation.ts";
import { LABEL } from "../spec/labels.ts";
import type { BindMount, Mount } from "../spec/mounts.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { archivePaths, canArchive } from "./archive.ts";
import { canCopyFaithfully, copyFolder, measureFolder } from "./copy-folder.ts";
import { openFreeze } from "./freeze.ts";
import { type Commit, commitContainer } from "./own-images.ts";
import type { SnapshotManifest } from "./snapshot-store.ts";

/** In-memory folders that may be omitted when the image has no tar. */
const SCRATCH: readonly string[] = ["/tmp", "/var/tmp"];
/** In-memory folders that are never captured, because they describe running processes. */
const RUNTIME: readonly string[] = ["/run"];
/** States of a container without processes, whose in-memory folders are empty. */
const STOPPED: readonly (string | undefined)[] = ["exited", "created"];
export const ARCHIVE_FILE = "files.tar";

/** The files of a sandbox: an image, copied folders, and an archive of the remaining files. */
export type Capture = Pick<
  SnapshotManifest,
  "image" | "docker_image" | "image_bytes" | "files_bytes" | "folders" | "archived" | "left_out"
>;

/**
 * Returns the sandbox of a spec and starts it if needed; throws when the task has no sandbox from Hermes. A stopped sandbox
 * that cannot be started is returned as it is: its file system can still be captured.
 */
export async function requireSandboxToCapture(
  engine: Engine,
  spec: SandboxSpec,
  signal: AbortSignal,
): Promise<Container> {
  if (!spec.persistAcrossProcesses) {
    const hint = "Set terminal.docker_persist_across_processes to true.";
    const problem =
      "Snapshots and forks need a shared sandbox, but terminal.docker_persist_across_processes is false.";
    throw new AppError("sandbox-refused", problem, { hint });
  }
  const found = await findSandbox(engine, spec, signal);
  if (!found || !belongsTo(found, spec)) {
    const hint = `See \`hermes sandbox list\`, or create one with \`hermes sandbox exec${taskFlag(spec.task)} -- true\`.`;
    throw new AppError("sandbox-unavailable", `The task ${spec.task} has no sandbox.`, { hint });
  }
  if (found.state === "running") return found;
  const started = await startContainer(engine, found, signal);
  if (!("complaint" in started)) return started.container;
  if (STOPPED.includes(started.container?.state)) return found;
  const problem = `The sandbox ${spec.name} cannot be started: ${started.complaint}`;
  throw new AppError("sandbox-unavailable", problem);
}

/**
 * Copies the persistent folders that Hermes created for the sandbox into `folder`, and its own file system into an image.
 * The sandbox is frozen meanwhile, so that image and folders are consistent; only in-memory files are read just before the freeze.
 * Mounts from the settings are not captured.
 */
export async function captureSandbox(
  engine: Engine,
  spec: SandboxSpec,
  source: Container,
  { folder, operation, ...commit }: Commit & { readonly folder: string; readonly operation: Operation },
  reporter: Reporter,
  signal: AbortSignal,
): Promise<Capture> {
  const own = spec.mounts.filter(isOwnFolder);
  const copied: BindMount[] = [];
  for (const mount of own) if (await canCopyFaithfully(engine, mount.localSource, signal)) copied.push(mount);
  const others = own.filter((mount) => !copied.includes(mount));
  const isStopped = STOPPED.includes(source.state);
  if (isStopped && others.length > 0) {
    const targets = others.map(({ target }) => target).join(", ");
    const problem = `The files in ${targets} can be copied only while the sandbox runs, and it cannot be started.`;
    throw new AppError("sandbox-unavailable", problem);
  }
  const inMemory = isStopped
    ? []
    : spec.mounts.filter(({ kind, target }) => kind === "tmpfs" && !RUNTIME.includes(target));
  const paths = [...inMemory, ...others].map(({ target }) => target);
  const archived = await archive(engine, source.id, paths, join(folder, ARCHIVE_FILE), reporter, signal);
  const folders = copied.map(({ target, localSource }) => ({ target, folder: basename(localSource) }));
  await operation.note({ frozen: { container: source.id, task: spec.task } });
  const copyAll = async () => {
    const [image, ...copies] = await Promise.allSettled([
      commitContainer(engine, source.id, commit, signal),
      ...copied.map(({ localSource: from }) =>
        copyFolder(engine, from, join(folder, basename(from)), signal),
      ),
    ]);
    for (const copy of copies) if (copy.status === "rejected") throw copy.reason;
    if (image.status === "rejected") throw image.reason;
    return image.value;
  };
  const { tag, uniqueBytes } = isStopped
    ? await copyAll()
    : await whileFrozen(engine, source.id, reporter, copyAll, signal);
  return {
    image: tag,
    docker_image: baseImageOf(source, spec),
    image_bytes: uniqueBytes,
    files_bytes: await measureFolder(engine, folder, signal),
    folders,
    archived,
    left_out: spec.mounts
      .filter((mount) => !isOwnFolder(mount) && mount.kind !== "tmpfs")
      .map(({ target }) => target),
  };
}

async function whileFrozen<Result>(
  engine: Engine,
  id: string,
  reporter: Reporter,
  work: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  await using freeze = await openFreeze(engine, id, signal);
  if (freeze.complaint !== undefined) {
    reporter.onNotice(
      `The sandbox cannot be paused while it is copied (${freeze.complaint}). Files that are being written may be inconsistent.`,
    );
  }
  return await work(); // awaited, so that the work ends before the freeze is disposed
}

/** Packs the in-memory folders, and the persistent folders that our process cannot copy faithfully; returns the packed paths. */
async function archive(
  engine: Engine,
  id: string,
  paths: string[],
  file: string,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<string[]> {
  if (paths.length === 0) return [];
  if (!(await canArchive(engine, id, signal))) {
    const required = paths.filter((path) => !SCRATCH.includes(path));
    if (required.length > 0) {
      const problem = `The files in ${required.join(", ")} cannot be copied: the image has no \`tar\`.`;
      const hint = "Use an image with tar, or set terminal.container_persistent to true.";
      throw new AppError("sandbox-refused", problem, { hint });
    }
    reporter.onNotice(`The files in ${paths.join(", ")} are not copied: the image has no \`tar\`.`);
    return [];
  }
  const complaint = await archivePaths(engine, id, paths, file, signal);
  if (complaint !== undefined) reporter.onNotice(`Some files changed while they were copied: ${complaint}`);
  return paths;
}

function isOwnFolder(mount: Mount): mount is BindMount {
  return mount.kind === "bind" && mount.isOurs;
}

/** The image named in the settings when the source was created; for a fork, the image of the original sandbox. */
function baseImageOf({ labels }: Container, spec: SandboxSpec): string {
  const fields = parseJson(labels[LABEL.specFields] ?? "");
  const image =
    typeof fields === "object" && fields !== null && "docker_image" in fields ? fields.docker_image : "";
  return typeof image === "string" && image !== "" ? image : spec.image;
}
