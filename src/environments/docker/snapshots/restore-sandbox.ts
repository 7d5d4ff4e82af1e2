import { AppError } from "../../../lib/errors.ts";
import type { Reporter } from "../../environment-request.ts";
import { type LookUpJobs, lookUpNothing, type SeenJob } from "../../jobs/seen-job.ts";
import type { Container } from "../container.ts";
import type { Engine } from "../engine.ts";
import { belongsTo, findSandbox } from "../find-sandbox.ts";
import { removeSandbox } from "../remove-sandbox.ts";
import { requireUnused } from "../require-unused.ts";
import { asideName, sandboxKey } from "../sandbox-names.ts";
import { forgetSandbox, type SandboxPlace } from "../sandbox-record.ts";
import type { SandboxSpec } from "../sandbox-spec.ts";
import { dropSeed, type ForkedSandbox, type ForkOptions, prepareSeed } from "./fork-sandbox.ts";
import { beginOperation, moveFolder, removeFolder } from "./operation.ts";
import { asidePath, keyFolder, plantSandbox } from "./plant-sandbox.ts";
import { putBack, renameContainer } from "./put-back.ts";
import { snapshotSandbox } from "./snapshot-sandbox.ts";
import { createSnapshotId, type SnapshotManifest } from "./snapshot-store.ts";
import { withTaskLock } from "./task-lock.ts";

const UNDO_MS = 60_000;

export interface RestoreOptions extends ForkOptions {
  /** Also while somebody uses the sandbox or a job runs in it, and when it cannot be kept as a snapshot first. */
  readonly force: boolean;
  /** Without it, jobs are named by their ids alone. */
  readonly lookUpJobs?: LookUpJobs;
}

export interface RestoredSandbox extends ForkedSandbox {
  /** The snapshot that keeps what was there before; undefined when there was nothing. */
  readonly before: string | undefined;
  /** What ran in the old one. */
  readonly endedJobs: readonly SeenJob[];
}

/**
 * Gives a task's sandbox the files of a snapshot. What was there becomes a snapshot first, then it is moved aside,
 * replaced, and only then removed; when the new one cannot be made, the old one is put back.
 */
export async function restoreSandbox(
  engine: Engine,
  snapshot: SnapshotManifest,
  spec: SandboxSpec,
  options: RestoreOptions,
  signal: AbortSignal,
): Promise<RestoredSandbox> {
  const { sandboxesFolder, now, reporter } = options;
  const startedAt = performance.now();
  const place = { sandboxesFolder, profileId: spec.profileId };
  return withTaskLock(place, spec.task, signal, async () => {
    const old = await findSandbox(engine, spec, signal);
    const endedJobs = old === undefined ? [] : await requireReplaceable(engine, old, spec, options, signal);
    const before = old === undefined ? undefined : await keepBefore(engine, spec, options, signal);
    const about = { kind: "restore", task: spec.task, key: sandboxKey(spec.profileId, spec.task) } as const;
    const operation = await beginOperation(place, createSnapshotId(now), about, signal);
    const seed = await prepareSeed(engine, { snapshot }, place, operation, { now, reporter }, signal);
    const aside = {
      container: asideName(spec.name, Date.now()),
      folder: await asidePath(place, keyFolder(place, spec.task)),
    };
    try {
      await operation.note({ aside, kept: before !== undefined });
      if (old !== undefined) await renameContainer(engine, old.id, aside.container, signal);
      await moveFolder(keyFolder(place, spec.task), aside.folder);
      const id = await plantSandbox(engine, spec, place, seed, operation, reporter, signal);
      if (old !== undefined) await letGo(engine, place, old, before && aside.folder, reporter, signal);
      await operation.end();
      const durationMs = performance.now() - startedAt;
      return { id, name: spec.name, task: spec.task, origin: snapshot.id, durationMs, before, endedJobs };
    } catch (error) {
      await putBack(engine, place, spec, aside, AbortSignal.timeout(UNDO_MS));
      await dropSeed(engine, operation, signal);
      throw error;
    }
  });
}

async function requireReplaceable(
  engine: Engine,
  old: Container,
  spec: SandboxSpec,
  { force, lookUpJobs = lookUpNothing }: RestoreOptions,
  signal: AbortSignal,
): Promise<readonly SeenJob[]> {
  if (!belongsTo(old, spec)) {
    throw new AppError(
      "sandbox-refused",
      `There is a container ${old.name} that is not ours; it was left alone.`,
    );
  }
  return requireUnused(engine, old, { force, lookUpJobs }, signal);
}

async function keepBefore(
  engine: Engine,
  spec: SandboxSpec,
  options: RestoreOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { id } = await snapshotSandbox(engine, spec, options, signal);
    return id;
  } catch (error) {
    signal.throwIfAborted();
    if (!options.force || !(error instanceof AppError)) throw error;
    options.reporter.onNotice(`What was there is not kept as a snapshot: ${error.message}`);
    return undefined;
  }
}

/** The new one is in place. What cannot be removed is no harm: gc finds it. */
async function letGo(
  engine: Engine,
  place: SandboxPlace,
  old: Container,
  folder: string | undefined,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  const removal = await removeSandbox(engine, old.id, signal);
  if (removal.outcome === "failed") {
    reporter.onNotice(`The old sandbox is left aside, because it cannot be removed: ${removal.reason}`);
  } else await forgetSandbox(place, old.id);
  if (folder !== undefined) await removeFolder(folder).catch(() => undefined);
}
