import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { AppError, messageOf } from "../../../lib/errors.ts";
import { exists } from "../../../lib/files/unless-missing.ts";
import { listPids, readProc } from "../../../lib/process/proc.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import type { Engine } from "../engine/engine.ts";
import { type Container, findContainer, listContainers, renameContainer } from "../lifecycle/container.ts";
import { removeUnlessRunning } from "../lifecycle/create-container.ts";
import { findSandbox, listReplaced, type SandboxOwner } from "../lifecycle/find-sandbox.ts";
import { type Removal, removeSandbox } from "../lifecycle/remove-sandbox.ts";
import { deleteSandboxRecord, recordSandbox, type SandboxStore } from "../lifecycle/sandbox-record.ts";
import { startContainer } from "../lifecycle/start-container.ts";
import type { ReclaimRow } from "../reclaim/reclaim.ts";
import {
  discardFolder,
  incompleteMark,
  persistentRoot,
  restoreReplaced,
} from "../restore/create-sandbox-from-seed.ts";
import { imageTag, removeOwnImage } from "../snapshots/own-images.ts";
import { loadManifests } from "../snapshots/snapshot-store.ts";
import { isOurs, LABEL } from "../spec/labels.ts";
import { containerName, isUniqueNameOf, sandboxKey } from "../spec/sandbox-names.ts";
import {
  listOperations,
  type OperationRecord,
  removeFolder,
  removeIncompleteOperations,
  type StoredOperation,
} from "./operation.ts";
import { withCaptureLock, withTaskLock } from "./task-lock.ts";

const ORPHANED_WORK_MS = 30_000;
const POLL_MS = 100;
/** Commands of the engine's client that modify containers or images. */
const MODIFYING_COMMANDS: ReadonlySet<string> = new Set(["create", "rename", "commit", "cp"]);

const SUBJECTS: Readonly<Record<OperationRecord["kind"], string>> = {
  snapshot: "A snapshot of",
  fork: "A fork that creates",
  restore: "Restoring",
  replace: "Replacing",
};

/** The context that every step of a recovery uses. */
interface Recovery {
  readonly engine: Engine;
  readonly store: SandboxStore;
  readonly signal: AbortSignal;
}

/**
 * Finishes or rolls back the operations of the profile whose processes have died, and restores the containers and
 * folders that they had moved aside. Several processes may do this at once.
 */
export async function recoverOperations(
  engine: Engine,
  store: SandboxStore,
  { dryRun, now }: { readonly dryRun: boolean; readonly now: number },
  signal: AbortSignal,
): Promise<ReclaimRow[]> {
  const rows: ReclaimRow[] = [];
  if (!dryRun) await removeIncompleteOperations(store, now);
  for (const operation of await listOperations(store, now, signal)) {
    if (operation.busyReason !== undefined) continue;
    const row = dryRun ? createRow(operation) : await recover({ engine, store, signal }, operation);
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

/**
 * Recovers the operations of one task whose sandbox is missing: waits for a live process that is replacing the sandbox,
 * and reports each recovery.
 */
export async function recoverTask(
  engine: Engine,
  owner: SandboxOwner & SandboxStore,
  onNotice: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const key = sandboxKey(owner.profileId, owner.task);
  await withTaskLock(owner, owner.task, signal, async () => {
    for (const operation of await listOperations(owner, Date.now(), signal)) {
      if (operation.record?.key !== key) continue;
      if (operation.busyReason !== undefined) {
        await systemClock.sleep(POLL_MS, signal); // its process has released the task lock and is about to end the operation
        continue;
      }
      const row = await recoverLocked({ engine, store: owner, signal }, operation);
      onNotice(`${row.reason}.`);
      if (row.action === "failed") throw new AppError("sandbox-unavailable", `${row.reason}.`);
    }
    // A container can also be moved aside without a record, if the last command of a killed process took effect after
    // the recovery.
    const [aside] = await listReplaced(engine, owner, signal);
    if (aside === undefined || (await findSandbox(engine, owner, signal)) !== undefined) return;
    await renameContainer(engine, aside.id, owner.name, signal);
    onNotice(`The sandbox ${owner.name} was moved aside by an interrupted operation and has been restored.`);
  });
}

function createRow({ id, record }: StoredOperation): ReclaimRow {
  const subject =
    record === undefined ? "An operation" : `${SUBJECTS[record.kind]} the sandbox of the task ${record.task}`;
  const reason = `${subject} was interrupted`;
  const task = record?.task ?? "";
  return { id, name: id, profile: "", task, state: "unfinished", action: "removed", reason };
}

async function recover(context: Recovery, operation: StoredOperation): Promise<ReclaimRow | undefined> {
  const { record, folder } = operation;
  if (record === undefined) return recoverLocked(context, operation);
  const work = async () => ((await exists(folder)) ? recoverLocked(context, operation) : undefined);
  // The process that has the lock works on that task and recovers this operation too.
  return unlessLocked(withTaskLock(context.store, record.task, context.signal, work, 0));
}

/** The caller must hold the lock of the task. */
async function recoverLocked(context: Recovery, operation: StoredOperation): Promise<ReclaimRow> {
  const row = createRow(operation);
  const { record, id, folder } = operation;
  try {
    let result = "";
    if (record !== undefined) {
      await waitForOrphanedWork(context, id, record);
      await unpause(context, record);
      const isFinished = await finishOrRollBack(context, id, record);
      result = isFinished ? " and is complete now" : " and was rolled back";
    }
    await removeFolder(folder);
    return { ...row, reason: `${row.reason}${result}` };
  } catch (error) {
    context.signal.throwIfAborted();
    const reason = `${row.reason}, and it cannot be rolled back: ${messageOf(error)}`;
    return { ...row, action: "failed", reason };
  }
}

/** Waits for commands that survived the owner process, so that they modify nothing after the recovery's checks. */
async function waitForOrphanedWork({ engine, signal }: Recovery, id: string, { key }: OperationRecord) {
  const deadline = performance.now() + ORPHANED_WORK_MS;
  while (performance.now() < deadline && (await hasOrphanedCommand(engine, [id, containerName(key)])))
    await systemClock.sleep(POLL_MS, signal);
}

/** Whether a command on this machine still modifies one of these operations or containers; false without /proc. */
async function hasOrphanedCommand({ binary }: Engine, words: readonly string[]): Promise<boolean> {
  const found = (await listPids()).map(async (pid) => {
    const argv = (await readProc(pid, "cmdline")).split("\0");
    const [program = "", verb = ""] = argv;
    const isModifying =
      basename(program) === "cp" || (basename(program) === basename(binary) && MODIFYING_COMMANDS.has(verb));
    return isModifying && argv.some((word) => words.some((known) => word.includes(known)));
  });
  return (await Promise.all(found)).includes(true);
}

/**
 * Unpauses a container that the owner process had frozen, in case its unpause script has died too. If another process
 * holds the capture lock, that process has frozen the container for its own snapshot and unpauses it later.
 */
async function unpause({ engine, store, signal }: Recovery, { frozen }: OperationRecord): Promise<void> {
  if (frozen === undefined) return;
  const work = async () => {
    const found = await findContainer(engine, frozen.container, signal);
    if (found?.state === "paused") await startContainer(engine, found, signal);
  };
  await unlessLocked(withCaptureLock(store, frozen.task, signal, work, 0));
}

/** Undefined when another process holds the lock. */
async function unlessLocked<Result>(locked: Promise<Result>): Promise<Result | undefined> {
  try {
    return await locked;
  } catch (error) {
    if (error instanceof AppError && error.code === "lock-busy") return undefined;
    throw error;
  }
}

/** Returns whether the operation is finished; otherwise it was rolled back. */
async function finishOrRollBack(context: Recovery, id: string, record: OperationRecord): Promise<boolean> {
  const { engine, store, signal } = context;
  const { task, key, kind, aside } = record;
  const name = containerName(key);
  const holder = await findContainer(engine, name, signal);
  const old =
    aside?.container === undefined ? undefined : await findContainer(engine, aside.container, signal);
  const target = persistentRoot(store, task);
  const mark = join(target, incompleteMark(id));
  if (holder !== undefined && (await removeUnlessDone(engine, record, holder, old))) {
    await rm(mark, { force: true });
    await recordSandbox(engine, store, { id: holder.id, task });
    if (old !== undefined) await remove(context, old);
    if (aside?.folder !== undefined && record.kept === true) await removeFolder(aside.folder);
    return true;
  }
  for (const unfinished of await listUnfinished(context, name)) await remove(context, unfinished);
  const current = await findContainer(engine, name, signal);
  if (current !== undefined && old !== undefined) {
    throw new AppError("sandbox-unavailable", `${current.name} has replaced ${old.name}`);
  }
  if (current === undefined) {
    if (await exists(mark)) await discardFolder(store, target);
    if (aside !== undefined) await restoreReplaced(engine, store, { name, task }, aside, signal);
  }
  if (kind !== "snapshot" && kind !== "fork") return false;
  if (kind === "snapshot" && (await loadManifests(store)).some((snapshot) => snapshot.id === id)) return true;
  requireRemoved(await removeOwnImage(engine, imageTag(kind, id), signal));
  return false;
}

/**
 * Returns whether the operation is done, that is, the container with the task's name is its new one; otherwise a
 * replacement that never ran has been removed.
 */
async function removeUnlessDone(
  engine: Engine,
  { kind, planted: newContainerId, old: oldId }: OperationRecord,
  holder: Container,
  old: Container | undefined,
): Promise<boolean> {
  if (kind !== "replace") return holder.id === newContainerId;
  if (holder.id === oldId) return false;
  // A container that never ran may be broken, so try to remove it. If the engine refuses because another process has
  // started it, the operation is done.
  return (
    old === undefined || holder.startedAt !== undefined || !(await removeUnlessRunning(engine, holder.id))
  );
}

async function remove({ engine, store, signal }: Recovery, { id }: Container): Promise<void> {
  requireRemoved(await removeSandbox(engine, id, signal));
  await deleteSandboxRecord(store, id);
}

function requireRemoved(removal: Removal): void {
  if (removal.outcome === "failed") throw new AppError("sandbox-unavailable", removal.reason);
}

/** Lists incomplete containers of the task, which never got its name. The task lock prevents new ones. */
async function listUnfinished({ engine, store, signal }: Recovery, name: string): Promise<Container[]> {
  const filters = [`label=${LABEL.origin}`, `label=${LABEL.profileId}=${store.profileId}`];
  const all = await listContainers(engine, filters, {}, signal);
  return all.filter((container) => isOurs(container.labels) && isUniqueNameOf(container.name, name));
}
