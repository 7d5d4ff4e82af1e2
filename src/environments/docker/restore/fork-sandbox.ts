import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import type { Reporter } from "../../environment-request.ts";
import type { Engine } from "../engine/engine.ts";
import { findSandbox } from "../lifecycle/find-sandbox.ts";
import type { SandboxStore } from "../lifecycle/sandbox-record.ts";
import { beginOperation, type Operation, removeFolder } from "../recovery/operation.ts";
import { withCaptureLock, withTaskLock } from "../recovery/task-lock.ts";
import { ARCHIVE_FILE, captureSandbox, requireSandboxToCapture } from "../snapshots/capture-sandbox.ts";
import { copyFolder } from "../snapshots/copy-folder.ts";
import { hasImage, imageTag, removeOwnImage } from "../snapshots/own-images.ts";
import { createSnapshotId, type SnapshotManifest, snapshotFolder } from "../snapshots/snapshot-store.ts";
import { sandboxKey } from "../spec/sandbox-names.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { createSandboxFromSeed, type Seed } from "./create-sandbox-from-seed.ts";

const UNDO_MS = 60_000;

/** The source of a fork: the current sandbox of a task, or a snapshot. */
export type ForkSource = { readonly sandbox: SandboxSpec } | { readonly snapshot: SnapshotManifest };

export interface ForkOptions {
  readonly now: number;
  readonly reporter: Reporter;
}

export interface ForkedSandbox {
  readonly id: string;
  readonly name: string;
  readonly task: string;
  /** Id of the source snapshot, or of the fork itself. */
  readonly origin: string;
  readonly durationMs: number;
}

/**
 * Creates the sandbox of a task that has none, with the files of another sandbox or of a snapshot. The source is not
 * changed and may be in use. If the process dies, gc removes everything that it leaves behind.
 */
export async function forkSandbox(
  engine: Engine,
  source: ForkSource,
  spec: SandboxSpec,
  { now, reporter }: ForkOptions,
  signal: AbortSignal,
): Promise<ForkedSandbox> {
  const startedAt = performance.now();
  const key = sandboxKey(spec.profileId, spec.task);
  return withTaskLock(spec, spec.task, signal, async () => {
    if ((await findSandbox(engine, spec, signal)) !== undefined) {
      throw new AppError("sandbox-exists", `The task ${spec.task} already has a sandbox.`);
    }
    const id = createSnapshotId(now);
    const operation = await beginOperation(spec, id, { kind: "fork", task: spec.task, key }, signal);
    const seed = await prepareSeed(engine, source, spec, operation, { now, reporter }, signal);
    try {
      const container = await createSandboxFromSeed(engine, spec, seed, operation, reporter, signal);
      await operation.end();
      const durationMs = performance.now() - startedAt;
      return { id: container, name: spec.name, task: spec.task, origin: seed.origin, durationMs };
    } catch (error) {
      await removeSeed(engine, operation, signal);
      throw error;
    }
  });
}

/** Copies the files of the source for a new sandbox. */
export async function prepareSeed(
  engine: Engine,
  source: ForkSource,
  store: SandboxStore,
  operation: Operation,
  options: ForkOptions,
  signal: AbortSignal,
): Promise<Seed> {
  const folder = join(operation.folder, "files");
  try {
    await mkdir(folder, { mode: 0o700 });
    return "snapshot" in source
      ? await fromSnapshot(engine, source.snapshot, store, folder, signal)
      : await fromSandbox(engine, source.sandbox, store, operation, folder, options, signal);
  } catch (error) {
    await removeSeed(engine, operation, signal);
    throw error;
  }
}

/** Removes a seed. After an abort the engine may still finish the image, so the record stays for gc. */
export async function removeSeed(engine: Engine, operation: Operation, signal: AbortSignal): Promise<void> {
  await removeOwnImage(engine, imageTag("fork", operation.id), AbortSignal.timeout(UNDO_MS));
  await (signal.aborted ? removeFolder(join(operation.folder, "files")) : operation.end());
}

async function fromSnapshot(
  engine: Engine,
  snapshot: SnapshotManifest,
  store: SandboxStore,
  folder: string,
  signal: AbortSignal,
): Promise<Seed> {
  if (!(await hasImage(engine, snapshot.image, signal))) {
    throw new AppError("sandbox-image-missing", `The engine no longer has the image ${snapshot.image}.`, {
      hint: "Switch to the engine that has it. If the image was removed, the snapshot cannot be used.",
    });
  }
  const from = snapshotFolder(store, snapshot.id);
  for (const { folder: name } of snapshot.folders) {
    await copyFolder(engine, join(from, name), join(folder, name), signal);
  }
  return { folder, archive: join(from, ARCHIVE_FILE), origin: snapshot.id, manifest: snapshot };
}

async function fromSandbox(
  engine: Engine,
  spec: SandboxSpec,
  store: SandboxStore,
  operation: Operation,
  folder: string,
  { now, reporter }: ForkOptions,
  signal: AbortSignal,
): Promise<Seed> {
  const createdAt = new Date(now).toISOString();
  const commit = { kind: "fork", id: operation.id, name: "", createdAt, folder, operation } as const;
  const manifest = await withCaptureLock(store, spec.task, signal, async () => {
    const source = await requireSandboxToCapture(engine, spec, signal);
    return captureSandbox(engine, spec, source, commit, reporter, signal);
  });
  // The folder is moved to the new sandbox; the archive is only unpacked and stays with the operation.
  const archive = join(operation.folder, ARCHIVE_FILE);
  if (manifest.archived.length > 0) await rename(join(folder, ARCHIVE_FILE), archive);
  return { folder, archive, origin: operation.id, manifest };
}
