import { basename, join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import { withFileLock } from "../../../lib/file-lock.ts";
import { ensurePrivateFolder } from "../../../lib/files.ts";
import type { Reporter } from "../../environment-request.ts";
import type { Container } from "../container.ts";
import type { Engine } from "../engine.ts";
import { belongsTo, findSandbox } from "../find-sandbox.ts";
import { LABEL } from "../labels.ts";
import type { BindMount, Mount } from "../mounts.ts";
import { parseJson } from "../parse-json.ts";
import { sandboxKey } from "../sandbox-names.ts";
import type { SandboxPlace } from "../sandbox-record.ts";
import type { SandboxSpec } from "../sandbox-spec.ts";
import { startContainer } from "../start-container.ts";
import { archivePaths, canArchive } from "./archive.ts";
import { canCopy, copyFolder, sizeOf } from "./copy-folder.ts";
import { openFreeze } from "./freeze.ts";
import { type Commit, commitContainer } from "./own-images.ts";
import { type SnapshotManifest, snapshotsFolder } from "./snapshot-store.ts";

/** Files in memory that are gone with the container; `/run` is left out, because it describes what runs. */
const SCRATCH: readonly string[] = ["/tmp", "/var/tmp"];
const RUNTIME: readonly string[] = ["/run"];
const LOCK_WAIT_MS = 10 * 60_000;
export const ARCHIVE = "files.tar";

/** All that a sandbox's files are: an image, copied folders and an archive of what neither of them holds. */
export type Capture = Pick<
  SnapshotManifest,
  "image" | "docker_image" | "image_bytes" | "files_bytes" | "folders" | "archived" | "left_out"
>;

/**
 * Only one process at a time captures a sandbox, from finding it on: to another one it would look paused, and be woken
 * in the middle.
 */
export async function withCaptureLock<Result>(
  place: SandboxPlace,
  task: string,
  signal: AbortSignal,
  action: () => Promise<Result>,
): Promise<Result> {
  await ensurePrivateFolder(snapshotsFolder(place));
  const path = join(snapshotsFolder(place), `${sandboxKey(place.profileId, task)}.capture.lock`);
  return withFileLock({ path, deadlineMs: LOCK_WAIT_MS }, action, signal);
}

/** The sandbox of a spec, running; throws when there is none that is ours. */
export async function requireSource(
  engine: Engine,
  spec: SandboxSpec,
  signal: AbortSignal,
): Promise<Container> {
  if (!spec.persistAcrossProcesses) {
    throw new AppError(
      "sandbox-refused",
      "With terminal.docker_persist_across_processes off, each process has a sandbox of its own that no other finds.",
      { hint: "Set terminal.docker_persist_across_processes to true to keep snapshots and forks." },
    );
  }
  const found = await findSandbox(engine, spec, signal);
  if (!found || !belongsTo(found, spec)) {
    throw new AppError("sandbox-unavailable", `The task ${spec.task} has no sandbox.`, {
      hint: `See \`hermes sandbox list\`, or make it with \`hermes sandbox exec --task ${spec.task} -- true\`.`,
    });
  }
  if (found.state === "running") return found;
  const started = await startContainer(engine, found, signal);
  if (!("complaint" in started)) return started.container;
  throw new AppError(
    "sandbox-unavailable",
    `The sandbox ${spec.name} cannot be started: ${started.complaint}`,
  );
}

/**
 * Copies the files of a running sandbox into `folder`, and its own file system into an image. Meanwhile it stands
 * still, so that image and folders show one moment; only what lives in memory is read while it still moves, just
 * before. Mounts that the settings ask for are no part of it.
 */
export async function captureSandbox(
  engine: Engine,
  spec: SandboxSpec,
  source: Container,
  { folder, ...commit }: Commit & { readonly folder: string },
  reporter: Reporter,
  signal: AbortSignal,
): Promise<Capture> {
  const own = spec.mounts.filter(isOwnFolder);
  const copied: BindMount[] = [];
  for (const mount of own) if (await canCopy(engine, mount.localSource, signal)) copied.push(mount);
  const archived = await archive(engine, spec, source.id, own, copied, folder, reporter, signal);
  const folders = copied.map(({ target, localSource }) => ({ target, folder: basename(localSource) }));
  const { tag, uniqueBytes } = await whileFrozen(engine, source.id, reporter, signal, async () => {
    const [image, ...copies] = await Promise.allSettled([
      commitContainer(engine, source.id, commit, signal),
      ...copied.map((mount) =>
        copyFolder(engine, mount.localSource, join(folder, basename(mount.localSource)), signal),
      ),
    ]);
    for (const copy of copies) if (copy.status === "rejected") throw copy.reason;
    if (image.status === "rejected") throw image.reason;
    return image.value;
  });
  return {
    image: tag,
    docker_image: baseImageOf(source, spec),
    image_bytes: uniqueBytes,
    files_bytes: await sizeOf(engine, folder, signal),
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
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  await using freeze = await openFreeze(engine, id, signal);
  if (freeze.complaint !== undefined) {
    reporter.onNotice(
      `The sandbox cannot be held still while it is copied (${freeze.complaint}): files that were being written may be half of one moment, half of another.`,
    );
  }
  return await work(); // awaited here: it must be over before the sandbox goes on
}

/** Packs what lives in memory, and folders of which a copy of ours would lose something. */
async function archive(
  engine: Engine,
  spec: SandboxSpec,
  id: string,
  own: readonly BindMount[],
  copied: readonly BindMount[],
  folder: string,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<string[]> {
  const inMemory = spec.mounts.flatMap((mount) =>
    mount.kind === "tmpfs" && !RUNTIME.includes(mount.target) ? mount.target : [],
  );
  const paths = [...inMemory, ...own.filter((mount) => !copied.includes(mount)).map(({ target }) => target)];
  if (paths.length === 0) return [];
  if (!(await canArchive(engine, id, signal))) {
    const lost = paths.filter((path) => !SCRATCH.includes(path));
    if (lost.length > 0) {
      throw new AppError(
        "sandbox-refused",
        `The files in ${lost.join(", ")} cannot be copied: the image has no \`tar\`.`,
        { hint: "Use an image with tar, or set terminal.container_persistent to true." },
      );
    }
    reporter.onNotice(`The files in ${paths.join(", ")} are not copied: the image has no \`tar\`.`);
    return [];
  }
  const { complaint } = await archivePaths(engine, id, paths, join(folder, ARCHIVE), signal);
  if (complaint !== undefined) reporter.onNotice(`Some files changed while they were copied: ${complaint}`);
  return paths;
}

function isOwnFolder(mount: Mount): mount is BindMount {
  return mount.kind === "bind" && mount.ours;
}

/** What the source was made from by the settings: for a fork of a fork not the image, but what that began with. */
function baseImageOf({ labels }: Container, spec: SandboxSpec): string {
  const fields = parseJson(labels[LABEL.specFields] ?? "");
  const image =
    typeof fields === "object" && fields !== null && "docker_image" in fields ? fields.docker_image : "";
  return typeof image === "string" && image !== "" ? image : spec.image;
}
