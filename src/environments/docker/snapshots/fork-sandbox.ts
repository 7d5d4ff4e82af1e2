import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import type { Reporter } from "../../environment-request.ts";
import type { Engine } from "../engine.ts";
import { findSandbox } from "../find-sandbox.ts";
import { sandboxKey } from "../sandbox-names.ts";
import type { SandboxPlace } from "../sandbox-record.ts";
import type { SandboxSpec } from "../sandbox-spec.ts";
import { ARCHIVE, captureSandbox, requireSource, withCaptureLock } from "./capture-sandbox.ts";
import { copyFolder } from "./copy-folder.ts";
import { beginOperation, type Operation, removeFolder } from "./operation.ts";
import { hasImage, imageTag, removeOwnImage } from "./own-images.ts";
import { plantSandbox, type Seed } from "./plant-sandbox.ts";
import { createSnapshotId, type SnapshotManifest, snapshotFolder } from "./snapshot-store.ts";
import { withTaskLock } from "./task-lock.ts";

const UNDO_MS = 60_000;

/** What a fork begins with: the sandbox of a task as it is now, or a snapshot. */
export type ForkSource = { readonly sandbox: SandboxSpec } | { readonly snapshot: SnapshotManifest };

export interface ForkOptions {
  readonly sandboxesFolder: string;
  readonly now: number;
  readonly reporter: Reporter;
}

export interface ForkedSandbox {
  readonly id: string;
  readonly name: string;
  readonly task: string;
  /** The id of the snapshot that it came from, or of the fork itself. */
  readonly origin: string;
  readonly durationMs: number;
}

/**
 * Makes the sandbox of a task that has none, with the files of another one or of a snapshot; the source is not touched
 * and may be in use. Later processes find it by its task like any other. A process that dies in between leaves nothing
 * that gc does not find.
 */
export async function forkSandbox(
  engine: Engine,
  source: ForkSource,
  spec: SandboxSpec,
  { sandboxesFolder, now, reporter }: ForkOptions,
  signal: AbortSignal,
): Promise<ForkedSandbox> {
  const startedAt = performance.now();
  const place = { sandboxesFolder, profileId: spec.profileId };
  const key = sandboxKey(spec.profileId, spec.task);
  return withTaskLock(place, spec.task, signal, async () => {
    if ((await findSandbox(engine, spec, signal)) !== undefined) {
      throw new AppError("sandbox-exists", `The task ${spec.task} has a sandbox already.`);
    }
    const id = createSnapshotId(now);
    const operation = await beginOperation(place, id, { kind: "fork", task: spec.task, key }, signal);
    const seed = await prepareSeed(engine, source, place, operation, { now, reporter }, signal);
    try {
      const container = await plantSandbox(engine, spec, place, seed, operation, reporter, signal);
      await operation.end();
      const durationMs = performance.now() - startedAt;
      return { id: container, name: spec.name, task: spec.task, origin: seed.origin, durationMs };
    } catch (error) {
      await dropSeed(engine, operation, signal);
      throw error;
    }
  });
}

/** The files that a new sandbox is made from, copied for it alone. */
export async function prepareSeed(
  engine: Engine,
  source: ForkSource,
  place: SandboxPlace,
  operation: Operation,
  { now, reporter }: Pick<ForkOptions, "now" | "reporter">,
  signal: AbortSignal,
): Promise<Seed> {
  const folder = join(operation.folder, "files");
  try {
    await mkdir(folder, { mode: 0o700 });
    return "snapshot" in source
      ? await fromSnapshot(engine, source.snapshot, place, folder, signal)
      : await fromSandbox(engine, source.sandbox, place, operation, folder, { now, reporter }, signal);
  } catch (error) {
    await dropSeed(engine, operation, signal);
    throw error;
  }
}

/** Undoes what was prepared. An engine that was told to stop may still finish the image; the record leads gc to it. */
export async function dropSeed(engine: Engine, operation: Operation, signal: AbortSignal): Promise<void> {
  await removeOwnImage(engine, imageTag("fork", operation.id), AbortSignal.timeout(UNDO_MS));
  await (signal.aborted ? removeFolder(join(operation.folder, "files")) : operation.end());
}

async function fromSnapshot(
  engine: Engine,
  snapshot: SnapshotManifest,
  place: SandboxPlace,
  folder: string,
  signal: AbortSignal,
): Promise<Seed> {
  if (!(await hasImage(engine, snapshot.image, signal))) {
    throw new AppError("sandbox-image-missing", `The engine has no image ${snapshot.image} any more.`, {
      hint: "It may be that of another engine, or was removed by hand; the snapshot is of no use then.",
    });
  }
  const from = snapshotFolder(place, snapshot.id);
  for (const { folder: name } of snapshot.folders) {
    await copyFolder(engine, join(from, name), join(folder, name), signal);
  }
  return { folder, archive: join(from, ARCHIVE), origin: snapshot.id, about: snapshot };
}

async function fromSandbox(
  engine: Engine,
  spec: SandboxSpec,
  place: SandboxPlace,
  operation: Operation,
  folder: string,
  { now, reporter }: Pick<ForkOptions, "now" | "reporter">,
  signal: AbortSignal,
): Promise<Seed> {
  const createdAt = new Date(now).toISOString();
  const commit = { kind: "fork", id: operation.id, name: "", createdAt, folder } as const;
  const about = await withCaptureLock(place, spec.task, signal, async () => {
    const source = await requireSource(engine, spec, signal);
    return captureSandbox(engine, spec, source, commit, reporter, signal);
  });
  // The folder becomes the sandbox's own; what is only unpacked stays with the operation.
  const archive = join(operation.folder, ARCHIVE);
  if (about.archived.length > 0) await rename(join(folder, ARCHIVE), archive);
  return { folder, archive, origin: operation.id, about };
}
