import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Engine } from "../engine.ts";
import { LABEL } from "../labels.ts";
import type { ReclaimRow } from "../reclaim.ts";
import type { SandboxPlace } from "../sandbox-record.ts";
import { listSnapshots, listUsers, type SnapshotRow } from "./list-snapshots.ts";
import { listOperations, removeFolder } from "./operation.ts";
import { listOwnImages, type OwnImage, removeOwnImage } from "./own-images.ts";
import { MANIFEST, snapshotFolder } from "./snapshot-store.ts";

/** What is removed; with none of the first four, nothing. */
export interface PruneRules {
  /** These alone, by their ids; the others are not looked at. */
  readonly only?: ReadonlySet<string> | undefined;
  /** Those that are at least this old. */
  readonly olderThanMs?: number | undefined;
  /** All but the newest so many of each task. */
  readonly keep?: number | undefined;
  /** All that no container needs. */
  readonly all?: boolean | undefined;
  /** Only say what would be done. */
  readonly dryRun: boolean;
  readonly now: number;
}

/** A row of the report, with what it frees. */
export interface PruneRow extends ReclaimRow {
  readonly size_bytes: number;
}

/** Removes snapshots by name, by age, by number or all; one that a container began with stays as long as that container. */
export async function pruneSnapshots(
  engine: Engine,
  place: SandboxPlace,
  rules: PruneRules,
  signal: AbortSignal,
): Promise<PruneRow[]> {
  const rows: PruneRow[] = [];
  const snapshots = await listSnapshots(engine, place, signal);
  for (const snapshot of snapshots) {
    if (rules.only?.has(snapshot.id) === false) continue;
    const reason = whyOver(snapshot, snapshots, rules);
    const base = rowOf(snapshot);
    if (reason === undefined) rows.push({ ...base, action: "kept", reason: "it is not old enough" });
    else if (snapshot.used_by.length > 0)
      rows.push({ ...base, action: "kept", reason: `${snapshot.used_by.join(", ")} began with it` });
    else rows.push({ ...base, ...(await remove(engine, place, snapshot, reason, rules.dryRun, signal)) });
  }
  return rows;
}

function whyOver(
  snapshot: SnapshotRow,
  all: readonly SnapshotRow[],
  { only, olderThanMs, keep, all: everything, now }: PruneRules,
): string | undefined {
  if (only !== undefined) return "it was asked for";
  if (everything === true) return "all were asked for";
  const ageMs = now - Date.parse(snapshot.created_at);
  if (olderThanMs !== undefined && ageMs >= olderThanMs) return `it is ${Math.round(ageMs / 1_000)} s old`;
  if (keep === undefined) return undefined;
  const newer = all.filter(({ task, id }) => task === snapshot.task && id > snapshot.id).length;
  return newer >= keep ? `there are ${newer} newer ones of its task` : undefined;
}

type Outcome = Pick<PruneRow, "action" | "reason">;

async function remove(
  engine: Engine,
  place: SandboxPlace,
  { id, image }: SnapshotRow,
  reason: string,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<Outcome> {
  if (dryRun) return { action: "removed", reason };
  // The image first: as long as its folder is there, an image can be found again from it.
  const removal = await removeOwnImage(engine, image, signal);
  if (removal.outcome === "failed") {
    return { action: "failed", reason: `${reason}, but its image cannot be removed: ${removal.reason}` };
  }
  const folder = snapshotFolder(place, id);
  await rm(join(folder, MANIFEST), { force: true });
  await removeFolder(folder);
  return { action: "removed", reason };
}

/**
 * Removes images that no container and no snapshot needs: those of forks whose sandbox is gone, and those of snapshots
 * that lost their folder, when they are old enough.
 */
export async function pruneImages(
  engine: Engine,
  place: SandboxPlace,
  { olderThanMs, all, dryRun, now }: PruneRules,
  signal: AbortSignal,
): Promise<PruneRow[]> {
  // In this order: what is being made now has its record before its image.
  const images = await listOwnImages(engine, place.profileId, signal);
  if (images.length === 0) return [];
  const underWay = new Set((await listOperations(place, now, signal)).map(({ id }) => id));
  const known = new Set((await listSnapshots(engine, place, signal)).map(({ id }) => id));
  const users = await listUsers(engine, place.profileId, signal);
  const rows: PruneRow[] = [];
  for (const image of images) {
    if (known.has(image.id) || underWay.has(image.id) || users.has(image.id)) continue;
    if (image.kind === "snapshot" && all !== true && !isOld(image, olderThanMs, now)) continue;
    const reason = image.kind === "fork" ? "its sandbox is gone" : "its folder is gone";
    const removal = dryRun ? undefined : await removeOwnImage(engine, image.tag, signal);
    rows.push({
      ...rowOfImage(image),
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

function rowOf({ id, name, task, size_bytes }: SnapshotRow) {
  return { id, name: name || id, task, profile: "", state: "snapshot", size_bytes };
}

function rowOfImage({ id, tag, labels, uniqueBytes }: OwnImage) {
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
