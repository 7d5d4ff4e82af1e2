import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import { writeFileAtomic } from "../../../lib/files/files.ts";
import type { Reporter } from "../../environment-request.ts";
import type { Engine } from "../engine/engine.ts";
import type { Container } from "../lifecycle/container.ts";
import type { SandboxStore } from "../lifecycle/sandbox-record.ts";
import { beginOperation, moveFolder, removeFolder } from "../recovery/operation.ts";
import { withCaptureLock, withSnapshotNames } from "../recovery/task-lock.ts";
import { sandboxKey } from "../spec/sandbox-names.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { captureSandbox, requireSandboxToCapture } from "./capture-sandbox.ts";
import { imageTag, removeOwnImage } from "./own-images.ts";
import {
  createSnapshotId,
  loadManifests,
  MANIFEST_FILE,
  requireSnapshotName,
  type SnapshotManifest,
  snapshotFolder,
} from "./snapshot-store.ts";

const UNDO_MS = 60_000;

export interface SnapshotOptions {
  /** The user's name for the snapshot, in addition to its id. */
  readonly name?: string | undefined;
  readonly now: number;
  readonly reporter: Reporter;
}

/**
 * Takes a snapshot of a sandbox: its own file system as an image, and our kept folders as copies. The sandbox resumes
 * unchanged. A failure or a crash never leaves an incomplete snapshot that looks complete.
 */
export async function snapshotSandbox(
  engine: Engine,
  spec: SandboxSpec,
  { name = "", now, reporter }: SnapshotOptions,
  signal: AbortSignal,
): Promise<SnapshotManifest> {
  if (name !== "") requireSnapshotName(name);
  await requireFreeName(spec, name); // fails before the work; another process may still take the name in the meantime
  return withCaptureLock(spec, spec.task, signal, async () => {
    const source = await requireSandboxToCapture(engine, spec, signal);
    return takeSnapshot(engine, spec, source, { name, now, reporter }, signal);
  });
}

async function requireFreeName(store: SandboxStore, name: string): Promise<void> {
  if (name === "" || (await loadManifests(store)).every((other) => other.name !== name)) return;
  throw new AppError("snapshot-exists", `A snapshot named ${name} already exists.`);
}

async function takeSnapshot(
  engine: Engine,
  spec: SandboxSpec,
  source: Container,
  { name, now, reporter }: Required<Omit<SnapshotOptions, "name">> & { readonly name: string },
  signal: AbortSignal,
): Promise<SnapshotManifest> {
  const id = createSnapshotId(now);
  const key = sandboxKey(spec.profileId, spec.task);
  const operation = await beginOperation(spec, id, { kind: "snapshot", task: spec.task, key }, signal);
  const folder = join(operation.folder, "snapshot");
  let manifest: SnapshotManifest;
  try {
    await mkdir(folder, { mode: 0o700 });
    const created_at = new Date(now).toISOString();
    const commit = { kind: "snapshot", id, name, createdAt: created_at, folder, operation } as const;
    const capture = await captureSandbox(engine, spec, source, commit, reporter, signal);
    const identity = {
      version: 1,
      id,
      name,
      profile_id: spec.profileId,
      task: spec.task,
      created_at,
    } as const;
    manifest = { ...identity, ...capture };
    const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
    await writeFileAtomic(join(folder, MANIFEST_FILE), text, { mode: 0o600 });
    const publish = async () => {
      await requireFreeName(spec, name);
      await moveFolder(folder, snapshotFolder(spec, id)); // makes the snapshot visible
    };
    await withSnapshotNames(spec, publish, signal);
  } catch (error) {
    await removeOwnImage(engine, imageTag("snapshot", id), AbortSignal.timeout(UNDO_MS));
    // After an abort the engine may still finish the image, so the record stays for gc.
    await (signal.aborted ? removeFolder(folder) : operation.end());
    throw error;
  }
  await operation.end();
  return manifest;
}
