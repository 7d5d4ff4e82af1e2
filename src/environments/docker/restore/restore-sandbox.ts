import { AppError } from "../../../lib/errors.ts";
import type { Reporter } from "../../environment-request.ts";
import { type FindJobCommands, findNoCommands, type JobCommand } from "../../jobs/job-command.ts";
import type { Engine } from "../engine/engine.ts";
import { type Container, renameContainer } from "../lifecycle/container.ts";
import { belongsTo, findSandbox } from "../lifecycle/find-sandbox.ts";
import { removeSandbox } from "../lifecycle/remove-sandbox.ts";
import { requireUnused } from "../lifecycle/require-unused.ts";
import { deleteSandboxRecord, type SandboxStore } from "../lifecycle/sandbox-record.ts";
import { beginOperation, moveFolder, removeFolder } from "../recovery/operation.ts";
import { withTaskLock } from "../recovery/task-lock.ts";
import { snapshotSandbox } from "../snapshots/snapshot-sandbox.ts";
import { createSnapshotId, type SnapshotManifest } from "../snapshots/snapshot-store.ts";
import { replacedName, sandboxKey } from "../spec/sandbox-names.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import {
  createReplacedPath,
  createSandboxFromSeed,
  persistentRoot,
  reportMovedFiles,
  restoreReplaced,
} from "./create-sandbox-from-seed.ts";
import { type ForkedSandbox, type ForkOptions, prepareSeed, removeSeed } from "./fork-sandbox.ts";

const UNDO_MS = 60_000;

export interface RestoreOptions extends ForkOptions {
  /** Restore even while the sandbox is in use or runs a job, and even if no snapshot of it can be taken first. */
  readonly force: boolean;
  /** If absent, messages contain only the ids of jobs. */
  readonly lookUpJobs?: FindJobCommands;
}

export interface RestoredSandbox extends ForkedSandbox {
  /** Id of the snapshot with the previous files; undefined when there was no sandbox. */
  readonly previousSnapshotId: string | undefined;
  /** The jobs that ran in the old sandbox. */
  readonly endedJobs: readonly JobCommand[];
}

/**
 * Restores a task's sandbox from a snapshot. The old sandbox is saved as a snapshot, moved aside, replaced and then
 * removed. If the new sandbox cannot be created, the old one is restored.
 */
export async function restoreSandbox(
  engine: Engine,
  snapshot: SnapshotManifest,
  spec: SandboxSpec,
  options: RestoreOptions,
  signal: AbortSignal,
): Promise<RestoredSandbox> {
  const { now, reporter } = options;
  const startedAt = performance.now();
  return withTaskLock(spec, spec.task, signal, async () => {
    const old = await findSandbox(engine, spec, signal);
    const endedJobs = old === undefined ? [] : await requireReplaceable(engine, old, spec, options, signal);
    const previousSnapshotId =
      old === undefined ? undefined : await saveBefore(engine, spec, options, signal);
    const subject = { kind: "restore", task: spec.task, key: sandboxKey(spec.profileId, spec.task) } as const;
    const operation = await beginOperation(spec, createSnapshotId(now), subject, signal);
    const seed = await prepareSeed(engine, { snapshot }, spec, operation, options, signal);
    const aside = {
      container: replacedName(spec.name, Date.now()),
      folder: await createReplacedPath(spec, persistentRoot(spec, spec.task)),
    };
    try {
      await operation.note({ aside, kept: previousSnapshotId !== undefined });
      if (old !== undefined) await renameContainer(engine, old.id, aside.container, signal);
      const hadFiles = await moveFolder(persistentRoot(spec, spec.task), aside.folder);
      const id = await createSandboxFromSeed(engine, spec, seed, operation, reporter, signal);
      if (old !== undefined)
        await removeReplaced(engine, spec, old, previousSnapshotId && aside.folder, reporter, signal);
      await operation.end();
      if (hadFiles && previousSnapshotId === undefined) reportMovedFiles(reporter, aside.folder);
      const durationMs = performance.now() - startedAt;
      return {
        id,
        name: spec.name,
        task: spec.task,
        origin: snapshot.id,
        durationMs,
        previousSnapshotId,
        endedJobs,
      };
    } catch (error) {
      await restoreReplaced(engine, spec, spec, aside, AbortSignal.timeout(UNDO_MS));
      await removeSeed(engine, operation, signal);
      throw error;
    }
  });
}

async function requireReplaceable(
  engine: Engine,
  old: Container,
  spec: SandboxSpec,
  { force, lookUpJobs = findNoCommands }: RestoreOptions,
  signal: AbortSignal,
): Promise<readonly JobCommand[]> {
  if (!belongsTo(old, spec)) {
    throw new AppError("sandbox-refused", `The container ${old.name} exists and was not created by Hermes.`);
  }
  return requireUnused(engine, old, { force, lookUpJobs }, signal);
}

async function saveBefore(engine: Engine, spec: SandboxSpec, options: RestoreOptions, signal: AbortSignal) {
  try {
    const { id } = await snapshotSandbox(engine, spec, options, signal);
    return id;
  } catch (error) {
    signal.throwIfAborted();
    if (!options.force || !(error instanceof AppError)) throw error;
    options.reporter.onNotice(`Cannot save the old sandbox as a snapshot: ${error.message}`);
    return undefined;
  }
}

/** Removes the old container and its folder; gc removes them later if that fails. */
async function removeReplaced(
  engine: Engine,
  store: SandboxStore,
  old: Container,
  folder: string | undefined,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  const removal = await removeSandbox(engine, old.id, signal);
  if (removal.outcome === "failed") {
    reporter.onNotice(`Cannot remove the old sandbox; \`hermes sandbox gc\` will: ${removal.reason}`);
  } else await deleteSandboxRecord(store, old.id);
  if (folder !== undefined) await removeFolder(folder).catch(() => undefined);
}
