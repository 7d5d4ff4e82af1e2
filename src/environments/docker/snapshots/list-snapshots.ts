import type { Engine } from "../engine/engine.ts";
import { listContainers } from "../lifecycle/container.ts";
import type { SandboxStore } from "../lifecycle/sandbox-record.ts";
import { isOurs, LABEL } from "../spec/labels.ts";
import { listOwnImages } from "./own-images.ts";
import { loadManifests, type SnapshotManifest } from "./snapshot-store.ts";

/** A snapshot in the output of `sandbox snapshots`. */
export interface SnapshotRow
  extends Pick<
    SnapshotManifest,
    "id" | "name" | "task" | "created_at" | "image" | "image_bytes" | "files_bytes"
  > {
  /** A snapshot without its image cannot be used: the image was removed, or another engine has it. */
  readonly state: "whole" | "image-missing";
  readonly size_bytes: number;
  /** Containers that were created from the snapshot and need its image. */
  readonly used_by: readonly string[];
}

/** Lists the snapshots of a profile, oldest first. */
export async function listSnapshots(
  engine: Engine,
  store: SandboxStore,
  signal: AbortSignal,
): Promise<SnapshotRow[]> {
  const manifests = await loadManifests(store);
  if (manifests.length === 0) return [];
  const images = new Set((await listOwnImages(engine, store.profileId, signal)).map(({ tag }) => tag));
  const users = await listContainersByOrigin(engine, store.profileId, signal);
  return manifests.map(({ id, name, task, created_at, image, image_bytes, files_bytes }) => ({
    id,
    name,
    task,
    created_at,
    image,
    state: images.has(image) ? "whole" : "image-missing",
    image_bytes,
    files_bytes,
    size_bytes: image_bytes + files_bytes,
    used_by: users.get(id) ?? [],
  }));
}

/** Lists the names of the containers that were created from each snapshot or fork. */
export async function listContainersByOrigin(
  engine: Engine,
  profileId: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const filters = [`label=${LABEL.origin}`, `label=${LABEL.profileId}=${profileId}`];
  const users = new Map<string, string[]>();
  for (const { name, labels } of await listContainers(engine, filters, {}, signal)) {
    const origin = labels[LABEL.origin];
    if (origin === undefined || !isOurs(labels)) continue;
    users.set(origin, [...(users.get(origin) ?? []), name]);
  }
  return users;
}
