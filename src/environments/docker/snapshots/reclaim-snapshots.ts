import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { withFileLock } from "../../../lib/file-lock.ts";
import { type Container, findContainer, listContainers } from "../container.ts";
import type { Engine } from "../engine.ts";
import { isOurs, LABEL } from "../labels.ts";
import { namesIn } from "../names-in.ts";
import type { ReclaimReport, ReclaimRow } from "../reclaim.ts";
import { removeSandbox } from "../remove-sandbox.ts";
import { asideSince, containerName } from "../sandbox-names.ts";
import type { SandboxPlace } from "../sandbox-record.ts";
import { type LeftOperation, listOperations, type OperationRecord, removeFolder } from "./operation.ts";
import { imageTag, removeOwnImage } from "./own-images.ts";
import { asideFolder, discardFolder, keyFolder, plantMark } from "./plant-sandbox.ts";
import { pruneImages, pruneSnapshots } from "./prune-snapshots.ts";
import { putBack } from "./restore-sandbox.ts";
import { loadManifests, snapshotsFolder } from "./snapshot-store.ts";

export interface SnapshotRules {
  /** 0 means never. */
  readonly ttlSeconds: number;
  readonly dryRun: boolean;
  readonly now: number;
}

/**
 * Removes what snapshots and forks of the profile left behind: what a process was making when it died, images that
 * nothing needs, and snapshots and folders moved aside that are too old. Tells what it did or would do, nothing of
 * what it keeps. Throws only when it is told to stop.
 */
export async function reclaimSnapshots(
  engine: Engine,
  place: SandboxPlace,
  { ttlSeconds, dryRun, now }: SnapshotRules,
  signal: AbortSignal,
): Promise<ReclaimReport> {
  const rows: ReclaimRow[] = [];
  const rules = { olderThanMs: ttlSeconds === 0 ? undefined : ttlSeconds * 1_000, dryRun, now };
  try {
    for (const operation of await listOperations(place, now, signal)) {
      if (operation.busy === undefined) rows.push(await undo(engine, place, operation, dryRun, signal));
    }
    rows.push(...(await pruneSnapshots(engine, place, rules, signal)));
    rows.push(...(await pruneImages(engine, place, rules, signal)));
    rows.push(...(await pruneAside(place, rules)));
    return { rows: rows.filter(({ action }) => action !== "kept"), problem: undefined };
  } catch (error) {
    signal.throwIfAborted();
    return { rows, problem: messageOf(error) };
  }
}

/** Takes back what a process was making when it died, or completes it when only the last traces are left. */
async function undo(
  engine: Engine,
  place: SandboxPlace,
  operation: LeftOperation,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<ReclaimRow> {
  const { id, record, folder } = operation;
  const reason = `the process that made this ${record?.kind ?? "snapshot or fork"} is gone`;
  const row = { id, name: id, profile: "", task: record?.task ?? "", state: "unfinished" };
  if (dryRun) return { ...row, action: "removed", reason };
  try {
    if (record !== undefined) await takeBack(engine, place, id, record, signal);
    await removeFolder(folder);
    return { ...row, action: "removed", reason };
  } catch (error) {
    signal.throwIfAborted();
    return {
      ...row,
      action: "failed",
      reason: `${reason}, but it cannot be taken back: ${messageOf(error)}`,
    };
  }
}

async function takeBack(
  engine: Engine,
  place: SandboxPlace,
  id: string,
  { task, key, kind, aside }: OperationRecord,
  signal: AbortSignal,
): Promise<void> {
  const lock = { path: join(snapshotsFolder(place), `${key}.lock`), deadlineMs: 0 };
  const name = containerName(key);
  await withFileLock(
    lock,
    async () => {
      for (const { id: unfinished } of await listUnfinished(engine, place, name, signal)) {
        const removal = await removeSandbox(engine, unfinished, signal);
        if (removal.outcome === "failed") throw new AppError("sandbox-unavailable", removal.reason);
      }
      const target = keyFolder(place, task);
      const mark = join(target, plantMark(id));
      const done = await findContainer(engine, name, signal);
      if (await exists(mark)) {
        if (done === undefined) await discardFolder(place, target);
        else await rm(mark, { force: true });
      }
      if (aside !== undefined) await putBack(engine, place, { name, task }, aside, signal);
      await removeImages(engine, place, id, kind, done, signal);
    },
    signal,
  );
}

async function removeImages(
  engine: Engine,
  place: SandboxPlace,
  id: string,
  kind: OperationRecord["kind"],
  done: Container | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (kind === "restore" || done?.labels[LABEL.origin] === id) return;
  if (kind === "snapshot" && (await loadManifests(place)).some((snapshot) => snapshot.id === id)) return;
  const removal = await removeOwnImage(engine, imageTag(kind, id), signal);
  if (removal.outcome === "failed") throw new AppError("sandbox-unavailable", removal.reason);
}

/** Containers that were being made for the task and never got its name; nobody else makes any while the lock is held. */
async function listUnfinished(
  engine: Engine,
  { profileId }: SandboxPlace,
  name: string,
  signal: AbortSignal,
): Promise<Container[]> {
  const filters = [`label=${LABEL.origin}`, `label=${LABEL.profileId}=${profileId}`];
  const all = await listContainers(engine, filters, {}, signal);
  return all.filter(
    (container) =>
      isOurs(container.labels) &&
      container.name.startsWith(`${name}-`) &&
      /^[0-9a-f]{8}$/.test(container.name.slice(name.length + 1)),
  );
}

async function pruneAside(
  place: SandboxPlace,
  { olderThanMs, dryRun, now }: { olderThanMs: number | undefined; dryRun: boolean; now: number },
): Promise<ReclaimRow[]> {
  const rows: ReclaimRow[] = [];
  for (const name of await namesIn(asideFolder(place))) {
    const since = asideSince(name);
    if (olderThanMs === undefined || since === undefined || now - since < olderThanMs) continue;
    const reason = `it was moved aside ${Math.round((now - since) / 1_000)} s ago`;
    const row = { id: name, name, profile: "", task: "", state: "folder" };
    const failure = dryRun ? undefined : await removeFolder(join(asideFolder(place), name)).catch(messageOf);
    rows.push(
      failure === undefined
        ? { ...row, action: "removed", reason }
        : { ...row, action: "failed", reason: `${reason}, but it cannot be removed: ${failure}` },
    );
  }
  return rows;
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
