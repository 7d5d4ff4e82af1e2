import { rm } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../../lib/clock.ts";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { type Container, findContainer, listContainers } from "../container.ts";
import { removeUnused } from "../create-container.ts";
import type { Engine } from "../engine.ts";
import { findSandbox, listAside, type SandboxOwner } from "../find-sandbox.ts";
import { isOurs, LABEL } from "../labels.ts";
import type { ReclaimRow } from "../reclaim.ts";
import { removeSandbox } from "../remove-sandbox.ts";
import { containerName, isUniqueOf, sandboxKey } from "../sandbox-names.ts";
import { forgetSandbox, noteSandbox, type SandboxPlace } from "../sandbox-record.ts";
import {
  exists,
  type LeftOperation,
  listOperations,
  type OperationRecord,
  removeFolder,
  removeUnbegun,
} from "./operation.ts";
import { listOrphanedWork } from "./orphaned-work.ts";
import { imageTag, removeOwnImage } from "./own-images.ts";
import { discardFolder, keyFolder, plantMark } from "./plant-sandbox.ts";
import { putBack, renameContainer } from "./put-back.ts";
import { loadManifests } from "./snapshot-store.ts";
import { withTaskLock } from "./task-lock.ts";

const LAST_WORDS_MS = 30_000;
const PAUSE_MS = 100;

/** What became of an operation whose process died. */
type Recovery = "finished" | "taken-back";

const WORDS: Readonly<Record<OperationRecord["kind"], string>> = {
  snapshot: "A snapshot of",
  fork: "A fork that makes",
  restore: "Restoring",
  replace: "Replacing",
};

export interface RecoverOptions {
  readonly dryRun: boolean;
  readonly now: number;
}

/**
 * Finishes or takes back what processes of the profile were doing when they died, and gives tasks back what was moved
 * aside and forgotten. Any number may do it at once.
 */
export async function recoverOperations(
  engine: Engine,
  place: SandboxPlace,
  { dryRun, now }: RecoverOptions,
  signal: AbortSignal,
): Promise<ReclaimRow[]> {
  const rows: ReclaimRow[] = [];
  if (!dryRun) await removeUnbegun(place, now);
  for (const operation of await listOperations(place, now, signal)) {
    if (operation.busy !== undefined) continue;
    const row = dryRun ? rowOf(operation) : await recover(engine, place, operation, signal);
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

/**
 * The same for one task, whose sandbox is looked for and not there: waits for a living process that is replacing it,
 * and says what was found.
 */
export async function recoverTask(
  engine: Engine,
  place: SandboxPlace,
  owner: SandboxOwner,
  onNotice: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const key = sandboxKey(owner.profileId, owner.task);
  await withTaskLock(place, owner.task, signal, async () => {
    for (const operation of await listOperations(place, Date.now(), signal)) {
      if (operation.record?.key !== key) continue;
      if (operation.busy !== undefined) {
        await systemClock.sleep(PAUSE_MS, signal); // it has let go of the lock, and is about to end
        continue;
      }
      const row = await recoverLocked(engine, place, operation, signal);
      onNotice(`${row.reason}.`);
      if (row.action === "failed") throw new AppError("sandbox-unavailable", `${row.reason}.`);
    }
    // Without a record: the last command of a killed process came through when others had already looked.
    const [aside] = await listAside(engine, owner, signal);
    if (aside === undefined || (await findSandbox(engine, owner, signal)) !== undefined) return;
    await renameContainer(engine, aside.id, owner.name, signal);
    onNotice(`The sandbox ${owner.name} had been moved aside and is in its place again.`);
  });
}

function rowOf({ id, record }: LeftOperation): ReclaimRow {
  const reason = `${subjectOf(record)} was interrupted`;
  return {
    id,
    name: id,
    profile: "",
    task: record?.task ?? "",
    state: "unfinished",
    action: "removed",
    reason,
  };
}

function subjectOf(record: OperationRecord | undefined): string {
  return record === undefined ? "Some work" : `${WORDS[record.kind]} the sandbox of the task ${record.task}`;
}

async function recover(
  engine: Engine,
  place: SandboxPlace,
  operation: LeftOperation,
  signal: AbortSignal,
): Promise<ReclaimRow | undefined> {
  const { record, folder } = operation;
  if (record === undefined) {
    await removeFolder(folder);
    return rowOf(operation);
  }
  const work = async () =>
    (await exists(folder)) ? recoverLocked(engine, place, operation, signal) : undefined;
  try {
    return await withTaskLock(place, record.task, signal, work, 0);
  } catch (error) {
    // Whoever has the lock works on that task, and looks after this, too.
    if (error instanceof AppError && error.code === "lock-busy") return undefined;
    throw error;
  }
}

/** Needs the lock of the task. */
async function recoverLocked(
  engine: Engine,
  place: SandboxPlace,
  operation: LeftOperation,
  signal: AbortSignal,
): Promise<ReclaimRow> {
  const row = rowOf(operation);
  const { record, id, folder } = operation;
  try {
    if (record !== undefined) {
      await outwaitLastWords(engine, id, record, signal);
      const end = await bringToAnEnd(engine, place, id, record, signal);
      await removeFolder(folder);
      return { ...row, reason: `${row.reason} and ${DONE[end]}` };
    }
    await removeFolder(folder);
    return row;
  } catch (error) {
    signal.throwIfAborted();
    return {
      ...row,
      action: "failed",
      reason: `${row.reason}, and it cannot be taken back: ${messageOf(error)}`,
    };
  }
}

const DONE: Readonly<Record<Recovery, string>> = {
  finished: "is complete now",
  "taken-back": "was taken back: all is as it was before",
};

/** A command that the process had started may outlive it, and what it still does must not come after our look. */
async function outwaitLastWords(
  engine: Engine,
  id: string,
  { key }: OperationRecord,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + LAST_WORDS_MS;
  while (performance.now() < deadline) {
    if (!(await listOrphanedWork(engine, [id, containerName(key)])).some(Boolean)) return;
    await systemClock.sleep(PAUSE_MS, signal);
  }
}

async function bringToAnEnd(
  engine: Engine,
  place: SandboxPlace,
  id: string,
  record: OperationRecord,
  signal: AbortSignal,
): Promise<Recovery> {
  const { task, key, kind, aside } = record;
  const name = containerName(key);
  const holder = await findContainer(engine, name, signal);
  const old =
    aside?.container === undefined ? undefined : await findContainer(engine, aside.container, signal);
  const target = keyFolder(place, task);
  const mark = join(target, plantMark(id));
  if (holder !== undefined && (await isDone(engine, record, holder, old))) {
    await rm(mark, { force: true });
    await noteSandbox(engine, place, { id: holder.id, task });
    if (old !== undefined) await remove(engine, place, old, signal);
    if (aside?.folder !== undefined && record.kept === true) await removeFolder(aside.folder);
    return "finished";
  }
  for (const unfinished of await listUnfinished(engine, place, name, signal))
    await remove(engine, place, unfinished, signal);
  const now = await findContainer(engine, name, signal);
  if (now !== undefined && old !== undefined) {
    throw new AppError("sandbox-unavailable", `${now.name} has taken the place of ${old.name}`);
  }
  if (now === undefined) {
    if (await exists(mark)) await discardFolder(place, target);
    if (aside !== undefined) await putBack(engine, place, { name, task }, aside, signal);
  }
  return removeImages(engine, place, id, kind, signal);
}

/** Whether the container that has the task's name is the one that the operation was to make. */
async function isDone(
  engine: Engine,
  { kind, planted, old: oldId }: OperationRecord,
  holder: Container,
  old: Container | undefined,
): Promise<boolean> {
  if (kind !== "replace") return holder.id === planted;
  if (holder.id === oldId) return false;
  // One that never ran has not shown that it can. The engine refuses to remove it if somebody starts it meanwhile.
  return old === undefined || holder.startedAt !== undefined || !(await removeUnused(engine, holder.id));
}

async function remove(
  engine: Engine,
  place: SandboxPlace,
  { id }: Container,
  signal: AbortSignal,
): Promise<void> {
  const removal = await removeSandbox(engine, id, signal);
  if (removal.outcome === "failed") throw new AppError("sandbox-unavailable", removal.reason);
  await forgetSandbox(place, id);
}

async function removeImages(
  engine: Engine,
  place: SandboxPlace,
  id: string,
  kind: OperationRecord["kind"],
  signal: AbortSignal,
): Promise<Recovery> {
  if (kind !== "snapshot" && kind !== "fork") return "taken-back";
  if (kind === "snapshot" && (await loadManifests(place)).some((snapshot) => snapshot.id === id))
    return "finished";
  const removal = await removeOwnImage(engine, imageTag(kind, id), signal);
  if (removal.outcome === "failed") throw new AppError("sandbox-unavailable", removal.reason);
  return "taken-back";
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
  return all.filter((container) => isOurs(container.labels) && isUniqueOf(container.name, name));
}
