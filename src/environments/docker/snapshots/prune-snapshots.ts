import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Engine } from "../engine/engine.ts";
import type { SandboxStore } from "../lifecycle/sandbox-record.ts";
import type { ReclaimRow } from "../reclaim/reclaim.ts";
import { listOperations, removeFolder } from "../recovery/operation.ts";
import { LABEL } from "../spec/labels.ts";
import { listContainersByOrigin, listSnapshots, type SnapshotRow } from "./list-snapshots.ts";
import { listOwnImages, type OwnImage, removeOwnImage } from "./own-images.ts";
import { MANIFEST_FILE, snapshotFolder } from "./snapshot-store.ts";

/** Selects the snapshots to remove; without one of the first four fields, none is removed. */
export interface PruneRules {
  /** Consider only the snapshots with these ids. */
  readonly onlyIds?: ReadonlySet<string> | undefined;
  /** Remove snapshots that are at least this old. */
  readonly olderThanMs?: number | undefined;
  /** Remove all but this many of the newest snapshots of each task. */
  readonly keepNewest?: number | undefined;
  /** Remove all snapshots that no container needs. */
  readonly all?: boolean | undefined;
  readonly dryRun: boolean;
  readonly now: number;
}

/** A row of the report, with the size that the removal frees. */
export interface PruneRow extends ReclaimRow {
  readonly size_bytes: number;
}

/** Removes snapshots by id, by age, by count or all. A snapshot is kept while a container created from it exists. */
export async function pruneSnapshots(
  engine: Engine,
  store: SandboxStore,
  rules: PruneRules,
  signal: AbortSignal,
): Promise<PruneRow[]> {
  const rows: PruneRow[] = [];
  const snapshots = await listSnapshots(engine, store, signal);
  for (const snapshot of snapshots) {
    if (rules.onlyIds?.has(snapshot.id) === false) continue;
    const reason = findReasonToRemove(snapshot, snapshots, rules);
    const base = describeSnapshot(snapshot);
    if (reason === undefined) rows.push({ ...base, action: "kept", reason: "it is not old enough" });
    else if (snapshot.used_by.length > 0)
      rows.push({ ...base, action: "kept", reason: `${snapshot.used_by.join(", ")} was created from it` });
    else rows.push({ ...base, ...(await remove(engine, store, snapshot, reason, rules.dryRun, signal)) });
  }
  return rows;
}

function findReasonToRemove(
  snapshot: SnapshotRow,
  all: readonly SnapshotRow[],
  { onlyIds, olderThanMs, keepNewest, all: everything, now }: PruneRules,
): string | undefined {
  if (onlyIds !== undefined) return "it was selected";
  if (everything === true) return "all were selected";
  const ageMs = now - Date.parse(snapshot.created_at);
  if (olderThanMs !== undefined && ageMs >= olderThanMs) return `it is ${Math.round(ageMs / 1_000)} s old`;
  if (keepNewest === undefined) return undefined;
  const newer = all.filter(({ task, id }) => task === snapshot.task && id > snapshot.id).length;
  return newer >= keepNewest ? `its task has ${newer} newer ones` : undefined;
}

type Outcome = Pick<PruneRow, "action" | "reason">;

async function remove(
  engine: Engine,
  store: SandboxStore,
  { id, image }: SnapshotRow,
  reason: string,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<Outcome> {
  if (dryRun) return { action: "removed", reason };
  // The image first: if that fails, the folder still identifies the image.
  const removal = await removeOwnImage(engine, image, signal);
  if (removal.outcome === "failed") {
    return { action: "failed", reason: `${reason}, but its image cannot be removed: ${removal.reason}` };
  }
  const folder = snapshotFolder(store, id);
  await rm(join(folder, MANIFEST_FILE), { force: true });
  await removeFolder(folder);
  return { action: "removed", reason };
}

/**
 * Removes images that no container and no snapshot needs: images of forks whose sandbox was removed, and sufficiently
 * old images of snapshots whose folder was removed.
 */
export async function pruneImages(
  engine: Engine,
  store: SandboxStore,
  { olderThanMs, all, dryRun, now }: PruneRules,
  signal: AbortSignal,
): Promise<PruneRow[]> {
  // Images before operations: an operation writes its record before it creates its image.
  const images = await listOwnImages(engine, store.profileId, signal);
  if (images.length === 0) return [];
  const inOperation = new Set((await listOperations(store, now, signal)).map(({ id }) => id));
  const known = new Set((await listSnapshots(engine, store, signal)).map(({ id }) => id));
  const users = await listContainersByOrigin(engine, store.profileId, signal);
  const rows: PruneRow[] = [];
  for (const image of images) {
    if (known.has(image.id) || inOperation.has(image.id) || users.has(image.id)) continue;
    if (image.kind === "snapshot" && all !== true && !isOld(image, olderThanMs, now)) continue;
    const reason = image.kind === "fork" ? "its sandbox was removed" : "its folder was removed";
    const removal = dryRun ? undefined : await removeOwnImage(engine, image.tag, signal);
    rows.push({
      ...describeImage(image),
      ...(removal?.outcome === "failed"
        ? { action: "failed", reason: `${reason}, but it cannot be removed: ${removal.reason}` }
        : { action: "removed", reason }),
    });
  }
  return rows;
}

function isOld({ createdAt }: OwnImage, olderThanMs: number | undefined, now: number): boolean {
  return olderThanMs !== undefined && createdAt !== undefined && now - createdAt >= olderThanMs;
}

function describeSnapshot({ id, name, task, size_bytes }: SnapshotRow) {
  return { id, name: name || id, task, profile: "", state: "snapshot", size_bytes };
}

function describeImage({ id, tag, labels, uniqueBytes }: OwnImage) {
  const task = labels[LABEL.task] ?? "";
  return {
    id,
    name: tag,
    task,
    profile: labels[LABEL.profile] ?? "",
    state: "image",
    size_bytes: uniqueBytes,
  };
}
