import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import { writeFileAtomic } from "../../../lib/files.ts";
import type { Reporter } from "../../environment-request.ts";
import type { Container } from "../container.ts";
import type { Engine } from "../engine.ts";
import { sandboxKey } from "../sandbox-names.ts";
import type { SandboxPlace } from "../sandbox-record.ts";
import type { SandboxSpec } from "../sandbox-spec.ts";
import { captureSandbox, requireSource, withCaptureLock } from "./capture-sandbox.ts";
import { beginOperation, moveFolder, removeFolder } from "./operation.ts";
import { imageTag, removeOwnImage } from "./own-images.ts";
import {
  createSnapshotId,
  loadManifests,
  MANIFEST,
  requireSnapshotName,
  type SnapshotManifest,
  snapshotFolder,
} from "./snapshot-store.ts";

const UNDO_MS = 60_000;

export interface SnapshotOptions {
  /** By which a person finds it again, besides its id. */
  readonly name?: string | undefined;
  readonly sandboxesFolder: string;
  readonly now: number;
  readonly reporter: Reporter;
}

/**
 * Keeps the files of a sandbox as they are now: its own file system as an image, and our folders as copies. The sandbox
 * goes on as if nothing had been. Whatever fails or dies in between, nothing is left that looks like a snapshot.
 */
export async function snapshotSandbox(
  engine: Engine,
  spec: SandboxSpec,
  { name = "", sandboxesFolder, now, reporter }: SnapshotOptions,
  signal: AbortSignal,
): Promise<SnapshotManifest> {
  const place = { sandboxesFolder, profileId: spec.profileId };
  if (name !== "") {
    requireSnapshotName(name);
    if ((await loadManifests(place)).some((other) => other.name === name)) {
      throw new AppError("snapshot-exists", `There is already a snapshot called ${name}.`);
    }
  }
  return withCaptureLock(place, spec.task, signal, async () => {
    const source = await requireSource(engine, spec, signal);
    return take(engine, spec, source, place, { name, now, reporter }, signal);
  });
}

async function take(
  engine: Engine,
  spec: SandboxSpec,
  source: Container,
  place: SandboxPlace,
  { name, now, reporter }: { readonly name: string; readonly now: number; readonly reporter: Reporter },
  signal: AbortSignal,
): Promise<SnapshotManifest> {
  const id = createSnapshotId(now);
  const key = sandboxKey(spec.profileId, spec.task);
  const operation = await beginOperation(place, id, { kind: "snapshot", task: spec.task, key }, signal);
  const folder = join(operation.folder, "snapshot");
  let manifest: SnapshotManifest;
  try {
    await mkdir(folder, { mode: 0o700 });
    const created_at = new Date(now).toISOString();
    const commit = { kind: "snapshot", id, name, createdAt: created_at, folder } as const;
    const capture = await captureSandbox(engine, spec, source, commit, reporter, signal);
    const about = { version: 1, id, name, profile_id: spec.profileId, task: spec.task, created_at } as const;
    manifest = { ...about, ...capture };
    const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
    await writeFileAtomic(join(folder, MANIFEST), text, { mode: 0o600 });
    await moveFolder(folder, snapshotFolder(place, id)); // from here on it is one
  } catch (error) {
    await removeOwnImage(engine, imageTag("snapshot", id), AbortSignal.timeout(UNDO_MS));
    // An engine that was told to stop may still finish the image; then the record leads gc to it.
    await (signal.aborted ? removeFolder(folder) : operation.end());
    throw error;
  }
  await operation.end();
  return manifest;
}
