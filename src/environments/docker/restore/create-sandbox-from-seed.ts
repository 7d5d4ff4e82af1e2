import { rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import { ensurePrivateFolder } from "../../../lib/files/files.ts";
import { exists } from "../../../lib/files/unless-missing.ts";
import type { Reporter } from "../../environment-request.ts";
import type { Engine } from "../engine/engine.ts";
import { findContainer, renameContainer } from "../lifecycle/container.ts";
import { createSandbox } from "../lifecycle/create-sandbox.ts";
import { removeSandbox } from "../lifecycle/remove-sandbox.ts";
import { recordSandbox, type SandboxStore } from "../lifecycle/sandbox-record.ts";
import { moveFolder, type Operation, type OperationRecord, removeFolder } from "../recovery/operation.ts";
import { unpackArchive } from "../snapshots/archive.ts";
import { type SnapshotManifest, snapshotsFolder } from "../snapshots/snapshot-store.ts";
import { replacedName, sandboxKey, uniqueName } from "../spec/sandbox-names.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { fingerprintOf } from "../spec/spec-fields.ts";

const UNDO_MS = 90_000;

/** The files and the image that a new sandbox starts with. */
export interface Seed {
  /** Private copies of the persistent folders; they are moved to the sandbox, not copied again. */
  readonly folder: string;
  /** Path of the archive to unpack. It may belong to a snapshot, so it is never modified. */
  readonly archive: string;
  readonly origin: string;
  readonly manifest: Pick<SnapshotManifest, "image" | "docker_image" | "folders" | "archived">;
}

/** The host folder with the persistent folders of a task's sandbox. */
export function persistentRoot({ sandboxesFolder, profileId }: SandboxStore, task: string): string {
  return join(sandboxesFolder, "docker", sandboxKey(profileId, task));
}

/** The folder for persistent folders that were replaced; gc removes them when they are old enough. */
export function replacedFolder(store: SandboxStore): string {
  return join(snapshotsFolder(store), "aside");
}

/** A file next to the persistent folders; while it exists, they belong to a container that is still being created. */
export function incompleteMark(operationId: string): string {
  return `.unfinished-${operationId}`;
}

/**
 * Creates the sandbox of a spec from a seed. The container has a temporary name until it is complete; the final rename
 * makes it the sandbox of the task. A failure leaves neither the container nor the folders behind.
 */
export async function createSandboxFromSeed(
  engine: Engine,
  spec: SandboxSpec,
  seed: Seed,
  operation: Operation,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<string> {
  requireMountTargets(spec, seed);
  const target = persistentRoot(spec, spec.task);
  const mark = incompleteMark(operation.id);
  await writeFile(join(seed.folder, mark), "", { mode: 0o600 });
  const earlier = await moveEarlierFolders(spec, target, operation, reporter);
  await ensurePrivateFolder(join(target, ".."));
  await moveFolder(seed.folder, target);
  let id: string | undefined;
  try {
    const created = await createSandbox(engine, seededSpec(spec, seed), reporter, signal);
    if (!("id" in created)) throw sandboxExists(spec);
    id = created.id;
    if (seed.manifest.archived.length > 0) await unpackArchive(engine, id, seed.archive, signal);
    await operation.note({ planted: id });
    await renameContainer(engine, id, spec.name, signal).catch(async (error: unknown) => {
      throw (await findContainer(engine, spec.name, signal)) === undefined ? error : sandboxExists(spec);
    });
  } catch (error) {
    const undo = AbortSignal.timeout(UNDO_MS);
    if (id !== undefined) await removeSandbox(engine, id, undo);
    // If another process got the name first, its sandbox uses these folders now.
    if ((await findContainer(engine, spec.name, undo)) === undefined) {
      await discardFolder(spec, target);
      if (earlier !== undefined) await moveFolder(earlier, target);
    }
    throw error;
  }
  await recordSandbox(engine, spec, { id, task: spec.task });
  await rm(join(target, mark), { force: true });
  return id;
}

/** Moves the folders of an earlier, removed sandbox of the task aside; returns their new path. */
async function moveEarlierFolders(
  store: SandboxStore,
  target: string,
  operation: Operation,
  reporter: Reporter,
): Promise<string | undefined> {
  if (!(await exists(target))) return undefined;
  const aside = await createReplacedPath(store, target);
  await operation.note({ aside: { folder: aside } });
  if (!(await moveFolder(target, aside))) return undefined;
  reportMovedFiles(reporter, aside);
  return aside;
}

/** Reports files that are in no snapshot; reclaimSnapshots removes them when a snapshot of that age would be removed. */
export function reportMovedFiles(reporter: Reporter, folder: string): void {
  reporter.onNotice(
    `Files of an earlier sandbox of this task were moved to ${folder}. They are removed after terminal.docker_snapshot_ttl_seconds.`,
  );
}

/** Creates a free path below the folder for replaced folders. */
export async function createReplacedPath(store: SandboxStore, folder: string): Promise<string> {
  await ensurePrivateFolder(replacedFolder(store));
  return join(replacedFolder(store), replacedName(basename(folder), Date.now()));
}

/** Moves a folder aside and removes it; gc removes it later if that fails. */
export async function discardFolder(store: SandboxStore, folder: string): Promise<void> {
  const aside = await createReplacedPath(store, folder);
  if (await moveFolder(folder, aside)) await removeFolder(aside).catch(() => undefined);
}

/** Restores the container and the folder that were moved aside, unless the task has another container. */
export async function restoreReplaced(
  engine: Engine,
  store: SandboxStore,
  { name, task }: { readonly name: string; readonly task: string },
  aside: NonNullable<OperationRecord["aside"]>,
  signal: AbortSignal,
): Promise<void> {
  if ((await findContainer(engine, name, signal)) !== undefined) return;
  // Move the folder first: other processes find the container by name, so none can start it with the wrong folder.
  if (aside.folder !== undefined) await moveFolder(aside.folder, persistentRoot(store, task));
  const old = aside.container && (await findContainer(engine, aside.container, signal));
  if (old) await renameContainer(engine, old.id, name, signal);
}

/** The spec with the seed's image, so that this image does not count as drift. The origin label records the seed. */
function seededSpec(spec: SandboxSpec, { origin, manifest }: Seed): SandboxSpec {
  const fields = { ...spec.fields, docker_image: manifest.docker_image };
  return {
    ...spec,
    name: uniqueName(spec.name),
    image: manifest.image,
    fields,
    fingerprint: fingerprintOf(fields),
    origin,
  };
}

function requireMountTargets({ mounts }: SandboxSpec, { manifest }: Seed): void {
  const missing = manifest.folders.filter(
    ({ target }) => !mounts.some((mount) => mount.kind === "bind" && mount.isOurs && mount.target === target),
  );
  if (missing.length === 0) return;
  const hint = "Set terminal.container_persistent and terminal.docker_volumes as they were for the snapshot.";
  const problem = `The files of ${missing.map(({ target }) => target).join(", ")} cannot be restored, because the settings mount something else there.`;
  throw new AppError("sandbox-refused", problem, { hint });
}

function sandboxExists({ task }: SandboxSpec): AppError {
  return new AppError(
    "sandbox-exists",
    `Another process created a sandbox for the task ${task} in the meantime.`,
  );
}
