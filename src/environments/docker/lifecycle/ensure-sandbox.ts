import { AppError } from "../../../lib/errors.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { type Reporter, taskFlag } from "../../environment-request.ts";
import { callFailed, type Engine, engineAddress, succeeded } from "../engine/engine.ts";
import { listMemoryFolders } from "../isolation/memory-folders.ts";
import { findUse } from "../isolation/sandbox-processes.ts";
import { beginOperation, hasOperations, listOperations } from "../recovery/operation.ts";
import { withTaskLock } from "../recovery/task-lock.ts";
import { createSnapshotId } from "../snapshots/snapshot-store.ts";
import { ensureImage } from "../spec/sandbox-image.ts";
import { replacedName, sandboxKey } from "../spec/sandbox-names.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { describeDrift, type FieldDrift, findDrift } from "../spec/spec-fields.ts";
import { type Container, findContainer } from "./container.ts";
import { createSandbox } from "./create-sandbox.ts";
import { belongsTo, findSandbox, listReplaced } from "./find-sandbox.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import { deleteSandboxRecord, loadRecords, recordSandbox } from "./sandbox-record.ts";
import { startContainer } from "./start-container.ts";

const RENAME_TIMEOUT_MS = 10_000;
const CLEANUP_MS = 60_000;
const MAX_ATTEMPTS = 20;
/** How long a container may stay in a transitional state before it is replaced. */
const TRANSITION_MS = 3_000;
const POLL_MS = 100;
/** States of a container whose files the engine is deleting. */
const ENDING: readonly string[] = ["removing", "dead"];

export interface EnsuredSandbox {
  readonly id: string;
  readonly name: string;
  readonly how: "attached" | "started" | "created" | "replaced";
  /** Settings in which the sandbox differs from the spec; empty for a new sandbox. */
  readonly drift: readonly FieldDrift[];
}

/**
 * Returns the running sandbox of a spec, and creates it if needed. In persist mode all processes that request the same
 * profile and task get the same container, even concurrently, because the engine gives each name only once.
 */
export async function ensureSandbox(
  engine: Engine,
  spec: SandboxSpec,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<EnsuredSandbox> {
  const deadline = performance.now() + TRANSITION_MS;
  const search: Search = { engine, spec, reporter, signal, mayWait: () => performance.now() < deadline };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const found = spec.persistAcrossProcesses ? await findOrRecover(search) : undefined;
    if (found === "recovered") continue;
    const ensured = found === undefined ? await createNew(search, "created") : await adopt(search, found);
    if (ensured === undefined) continue;
    if (spec.persistAcrossProcesses) {
      if (ensured.how === "created") await reportLoss(search, ensured.id);
      // An existing sandbox is recorded too: the process that created it may have been killed before it wrote the record.
      await recordSandbox(engine, spec, { id: ensured.id, task: spec.task });
    }
    return ensured;
  }
  const hint = "Run `hermes sandbox status`, and `docker events` to see which program removes it.";
  const problem = `The sandbox ${spec.name} is repeatedly changed by another process.`;
  throw new AppError("sandbox-unavailable", problem, { hint });
}

interface Search {
  readonly engine: Engine;
  readonly spec: SandboxSpec;
  readonly reporter: Reporter;
  readonly signal: AbortSignal;
  /** Whether there is still time to wait for a container in a transitional state. */
  mayWait(): boolean;
}

/**
 * Finds the sandbox of the task. If a process was killed while it replaced the sandbox, recovers the sandbox first; if a
 * live process is replacing the sandbox, waits for that process.
 */
async function findOrRecover(search: Search): Promise<Container | "recovered" | undefined> {
  const { engine, spec, reporter, signal } = search;
  const key = sandboxKey(spec.profileId, spec.task);
  const operations = (await hasOperations(spec)) ? await listOperations(spec, Date.now(), signal) : [];
  const ofTask = operations.filter(({ record }) => record?.key === key);
  const found = await findSandbox(engine, spec, signal);
  const isInterrupted = ofTask.some(({ busyReason }) => busyReason === undefined);
  if (found !== undefined && !isInterrupted) return found;
  const isBeingReplaced = ofTask.some(({ record }) => record?.kind !== "snapshot");
  if (!isInterrupted && !isBeingReplaced && (await listReplaced(engine, spec, signal)).length === 0) {
    return undefined;
  }
  const { recoverTask } = await import("../recovery/recover.ts");
  await recoverTask(engine, spec, reporter.onNotice, signal);
  return "recovered";
}

/** Reports a sandbox that another program removed: we delete the record of each sandbox that we remove. */
async function reportLoss({ engine, spec, reporter, signal }: Search, id: string): Promise<void> {
  const address = engineAddress(engine);
  for (const record of await loadRecords(spec)) {
    if (record.task !== spec.task || record.engine !== address || record.id === id) continue;
    if ((await findContainer(engine, record.id, signal)) !== undefined) continue;
    await deleteSandboxRecord(spec, record.id);
    reporter.onNotice(
      `The sandbox ${record.id.slice(0, 12)} of this task was removed by another program. Created a new one with the files that are kept on the host.`,
    );
  }
}

async function createNew(search: Search, how: "created" | "replaced"): Promise<EnsuredSandbox | undefined> {
  const { engine, spec, reporter, signal } = search;
  const created = await createSandbox(engine, spec, reporter, signal);
  // Another process won the race for the name; the next attempt adopts its container.
  return "id" in created ? { id: created.id, name: spec.name, how, drift: [] } : undefined;
}

/** Undefined when the container was in a transitional state and must be inspected again. */
async function adopt(search: Search, found: Container): Promise<EnsuredSandbox | undefined> {
  const { spec, reporter } = search;
  requireOurs(found, spec);
  const drift = findDrift(found, spec);
  const reason = await reasonToReplace(search, found, drift);
  if (reason !== undefined) return replace(search, found, reason);
  if (spec.refusal !== undefined) {
    reporter.onNotice(
      `Using the existing sandbox ${found.name}, because the settings do not allow a new one: ${spec.refusal.message}`,
    );
  } else if (drift.length > 0) {
    const remedy = `To apply the settings, remove it with \`hermes sandbox rm${taskFlag(spec.task)}\`, which keeps only its files on the host, or set terminal.docker_on_drift to replace.`;
    reporter.onNotice(
      `The sandbox ${found.name} was created with other settings: ${describeDrift(drift)}. ${remedy}`,
    );
  }
  switch (found.state) {
    case "running":
      return { id: found.id, name: found.name, how: "attached", drift };
    case "restarting":
    case "removing":
    case "dead":
      return awaitTransition(search, found);
    default:
      return start(search, found, drift);
  }
}

function requireOurs(found: Container, spec: SandboxSpec): void {
  const { name } = found;
  if (belongsTo(found, spec)) return;
  throw new AppError("sandbox-refused", `The container ${name} exists and was not created by Hermes.`, {
    hint: `Rename it (\`docker rename ${name} NEW-NAME\`) or remove it.`,
  });
}

/** The reason to replace the container, if any; throws when the settings say to refuse a container with drift. */
async function reasonToReplace(
  { engine, spec, reporter, signal }: Search,
  found: Container,
  drift: readonly FieldDrift[],
): Promise<string | undefined> {
  // Another program can connect a network later, which does not change the mode.
  const modes = [found.host.NetworkMode, ...found.networks];
  const hasUnwantedNetwork = !spec.network && modes.some((mode) => mode !== "none");
  if (drift.length === 0 && !hasUnwantedNetwork) return undefined;
  if (spec.onDrift === "refuse") {
    const differences = drift.length > 0 ? describeDrift(drift) : "it has a network";
    throw new AppError(
      "sandbox-drifted",
      `The sandbox ${found.name} was created with other settings: ${differences}.`,
    );
  }
  // Before onDrift "keep": a user who turned the network off never gets a sandbox with a network.
  if (hasUnwantedNetwork) return "it has a network, and terminal.docker_network is false";
  if (spec.onDrift === "keep" || spec.refusal !== undefined) return undefined;
  const use = found.state === "running" ? await findUse(engine, found.id, signal) : undefined;
  if (use?.isHeld || (use?.jobs ?? []).length > 0) {
    reporter.onNotice(`The sandbox ${found.name} is in use and will be replaced when it is free.`);
    return undefined;
  }
  return `it was created with other settings: ${describeDrift(drift)}`;
}

async function start(
  search: Search,
  found: Container,
  drift: readonly FieldDrift[],
): Promise<EnsuredSandbox | undefined> {
  const started = await startContainer(search.engine, found, search.signal);
  if (!("complaint" in started)) return { id: found.id, name: found.name, how: "started", drift };
  // Another process has removed it, or began to after we found it.
  if (started.container === undefined || ENDING.includes(started.container.state)) return undefined;
  const reason = `cannot be started: ${started.complaint}`;
  if (search.spec.onDrift === "replace") return replace(search, found, `it ${reason}`);
  throw new AppError("sandbox-unavailable", `The sandbox ${found.name} ${reason}`, {
    hint: "Its files are kept. Fix the cause and repeat the command. If that is not possible, save it with `hermes sandbox snapshot` and recreate it with `hermes sandbox restore`; `hermes sandbox rm` deletes it.",
  });
}

/** Waits for a container to leave a transitional state; replaces it if that takes too long. */
async function awaitTransition(search: Search, found: Container): Promise<EnsuredSandbox | undefined> {
  if (!search.mayWait()) return replace(search, found, `it stays ${found.state}`);
  while (search.mayWait()) {
    await systemClock.sleep(POLL_MS, search.signal);
    const current = await findContainer(search.engine, found.id, search.signal);
    if (current?.state !== found.state || current.name !== found.name) break;
  }
  return undefined;
}

/**
 * Saves our container as a snapshot, renames it, creates a new one under its name, and then removes the old one. Each
 * step is recorded before it is done, so that the next process can finish or undo the operation if this process is
 * killed.
 */
async function replace(search: Search, old: Container, reason: string): Promise<EnsuredSandbox | undefined> {
  const { engine, spec, reporter, signal } = search;
  if (spec.refusal !== undefined) throw spec.refusal;
  await ensureImage(engine, spec, reporter, signal); // before the rename, because a pull may take long
  return withTaskLock(spec, spec.task, signal, async () => {
    if ((await findSandbox(engine, spec, signal))?.id !== old.id) return undefined; // replaced by another process
    const saved = await saveReplaced(search, old, reason);
    const subject = { kind: "replace", task: spec.task, key: sandboxKey(spec.profileId, spec.task) } as const;
    const operation = await beginOperation(spec, createSnapshotId(Date.now()), subject, signal);
    const aside = replacedName(spec.name, Date.now());
    await operation.note({ aside: { container: aside }, old: old.id });
    const moved = await engine.run(["rename", old.id, aside], RENAME_TIMEOUT_MS, signal);
    if (!succeeded(moved)) {
      await operation.end();
      const current = await findContainer(engine, old.id, signal);
      if (current?.name !== old.name) return undefined; // removed or renamed by another process
      throw callFailed(
        `The sandbox ${old.name} must be replaced, because ${reason}, but cannot be renamed`,
        moved,
      );
    }
    let created: EnsuredSandbox | undefined;
    try {
      created = await createNew(search, "replaced");
    } catch (error) {
      const restored = await engine.run(
        ["rename", old.id, spec.name],
        RENAME_TIMEOUT_MS,
        AbortSignal.timeout(CLEANUP_MS),
      );
      if (succeeded(restored)) await operation.end();
      throw error;
    }
    reporter.onNotice(`The sandbox ${old.name} was replaced, because ${reason}. ${saved}`);
    const removal = await removeSandbox(engine, old.id, signal);
    if (removal.outcome === "failed") {
      reporter.onNotice(`Cannot remove the old sandbox, now named ${aside}: ${removal.reason}`);
    } else await deleteSandboxRecord(spec, old.id);
    await operation.end();
    return created;
  });
}

/** Saves a sandbox that is about to be replaced; returns a sentence about its files. Throws when it cannot be saved. */
async function saveReplaced(search: Search, old: Container, reason: string): Promise<string> {
  const { engine, spec, reporter, signal } = search;
  if (listMemoryFolders(old).length > 0)
    return "Its files are not kept (terminal.container_persistent is false).";
  if (ENDING.includes(old.state)) return "The engine no longer gives access to its own files.";
  const { snapshotSandbox } = await import("../snapshots/snapshot-sandbox.ts");
  try {
    const { id } = await snapshotSandbox(engine, spec, { now: Date.now(), reporter }, signal);
    return `Its files are saved: \`hermes sandbox restore ${id}\`.`;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const problem = `The sandbox ${old.name} must be replaced, because ${reason}, but cannot be saved first: ${error.message}`;
    throw new AppError(error.code, problem, {
      hint: "Fix the cause, or delete the sandbox with its files: `hermes sandbox rm`.",
    });
  }
}
