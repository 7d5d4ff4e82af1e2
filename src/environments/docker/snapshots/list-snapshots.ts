import { listContainers } from "../container.ts";
import type { Engine } from "../engine.ts";
import { isOurs, LABEL } from "../labels.ts";
import type { SandboxPlace } from "../sandbox-record.ts";
import { listOwnImages } from "./own-images.ts";
import { loadManifests } from "./snapshot-store.ts";

/** A snapshot as it is printed. */
export interface SnapshotRow {
  readonly id: string;
  /** Empty when nobody gave it one. */
  readonly name: string;
  readonly task: string;
  readonly created_at: string;
  readonly image: string;
  /** Without its image it is of no use: somebody removed that by hand, or it is another engine's. */
  readonly state: "whole" | "image-missing";
  /** What the image takes beyond the one that it adds to. */
  readonly image_bytes: number;
  readonly files_bytes: number;
  readonly size_bytes: number;
  /** Containers that began with it, which need its image. */
  readonly used_by: readonly string[];
}

/** The snapshots of a profile, oldest first. */
export async function listSnapshots(
  engine: Engine,
  place: SandboxPlace,
  signal: AbortSignal,
): Promise<SnapshotRow[]> {
  const manifests = await loadManifests(place);
  if (manifests.length === 0) return [];
  const images = new Set((await listOwnImages(engine, place.profileId, signal)).map(({ tag }) => tag));
  const users = await listUsers(engine, place.profileId, signal);
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

/** The names of the containers that began with each snapshot or fork. */
export async function listUsers(
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
