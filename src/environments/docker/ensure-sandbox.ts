import { systemClock } from "../../lib/clock.ts";
import { AppError } from "../../lib/errors.ts";
import type { Reporter } from "../environment-request.ts";
import { type Container, findContainer } from "./container.ts";
import { complaintOf, type Engine, engineAddress, succeeded } from "./engine.ts";
import { belongsTo, findSandbox, listAside } from "./find-sandbox.ts";
import { makeSandbox } from "./make-sandbox.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import { ensureImage } from "./sandbox-image.ts";
import { asideName, sandboxKey } from "./sandbox-names.ts";
import { findUse } from "./sandbox-processes.ts";
import { forgetSandbox, loadRecords, noteSandbox } from "./sandbox-record.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";
import { beginOperation, hasOperations, listOperations } from "./snapshots/operation.ts";
import { createSnapshotId } from "./snapshots/snapshot-store.ts";
import { withTaskLock } from "./snapshots/task-lock.ts";
import { describeDrift, type FieldDrift, findDrift } from "./spec-fields.ts";
import { startContainer } from "./start-container.ts";

const RENAME_TIMEOUT_MS = 10_000;
const CLEANUP_MS = 60_000;
const ROUNDS = 20;
/** How long a container may be on its way from one state to another before we work around it. */
const PASSING_MS = 3_000;
const PAUSE_MS = 100;

export interface EnsuredSandbox {
  readonly id: string;
  readonly name: string;
  readonly how: "attached" | "started" | "created" | "replaced";
  /** Settings in which the sandbox differs from what was asked for; empty for one that was made now. */
  readonly drift: readonly FieldDrift[];
}

/**
 * The running sandbox of a spec: the one that is there, or a new one. In persist mode all processes that ask for the
 * same pair get the same container, however many ask at once; the engine decides by its name.
 */
export async function ensureSandbox(
  engine: Engine,
  spec: SandboxSpec,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<EnsuredSandbox> {
  const deadline = performance.now() + PASSING_MS;
  const search: Search = { engine, spec, reporter, signal, isPatient: () => performance.now() < deadline };
  for (let round = 0; round < ROUNDS; round++) {
    const found = spec.persistAcrossProcesses ? await findOrRecover(search) : undefined;
    if (found === "recovered") continue;
    const settled = found === undefined ? await make(search, "created") : await adopt(search, found);
    if (settled === undefined) continue;
    if (spec.persistAcrossProcesses) {
      if (settled.how === "created") await tellOfLoss(search, settled.id);
      // Each time: whoever made it may have been killed before it came to that.
      await noteSandbox(engine, spec, { id: settled.id, task: spec.task });
    }
    return settled;
  }
  throw new AppError("sandbox-unavailable", `The sandbox ${spec.name} keeps changing under our hands.`, {
    hint: "See `hermes sandbox status`. Another program may be removing it again and again; look at `docker events`.",
  });
}

interface Search {
  readonly engine: Engine;
  readonly spec: SandboxSpec;
  readonly reporter: Reporter;
  readonly signal: AbortSignal;
  isPatient(): boolean;
}

/**
 * The sandbox of the task. A process that was killed in the middle of replacing it may have left it under another name,
 * and a living one may be about to give it back: then it is recovered first, or waited for.
 */
async function findOrRecover(search: Search): Promise<Container | "recovered" | undefined> {
  const { engine, spec, reporter, signal } = search;
  const key = sandboxKey(spec.profileId, spec.task);
  const operations = (await hasOperations(spec)) ? await listOperations(spec, Date.now(), signal) : [];
  const ofTask = operations.filter(({ record }) => record?.key === key);
  const found = await findSandbox(engine, spec, signal);
  const isLeft = ofTask.some(({ busy }) => busy === undefined);
  if (found !== undefined && !isLeft) return found;
  const isMissing = ofTask.some(({ record }) => record?.kind !== "snapshot");
  if (!isLeft && !isMissing && (await listAside(engine, spec, signal)).length === 0) return undefined;
  const { recoverTask } = await import("./snapshots/recover.ts");
  await recoverTask(engine, spec, spec, reporter.onNotice, signal);
  return "recovered";
}

/** A record that nobody has removed tells of a sandbox that somebody else has. */
async function tellOfLoss({ engine, spec, reporter, signal }: Search, id: string): Promise<void> {
  const address = engineAddress(engine);
  for (const record of await loadRecords(spec)) {
    if (record.task !== spec.task || record.engine !== address || record.id === id) continue;
    if ((await findContainer(engine, record.id, signal)) !== undefined) continue;
    await forgetSandbox(spec, record.id);
    reporter.onNotice(
      `The sandbox ${record.id.slice(0, 12)} of this task was removed by another program. This is a new one, with the files that are kept on the host.`,
    );
  }
}

async function make(search: Search, how: "created" | "replaced"): Promise<EnsuredSandbox | undefined> {
  const { engine, spec, reporter, signal } = search;
  const made = await makeSandbox(engine, spec, reporter, signal);
  // Whoever was quicker has the name; the next round takes theirs as it would take any.
  return "id" in made ? { id: made.id, name: spec.name, how, drift: [] } : undefined;
}

/** Undefined when the container was on its way somewhere and must be looked at again. */
async function adopt(search: Search, found: Container): Promise<EnsuredSandbox | undefined> {
  const { spec, reporter } = search;
  requireOurs(found, spec);
  const drift = findDrift(found, spec);
  const reason = await reasonToReplace(search, found, drift);
  if (reason !== undefined) return replace(search, found, reason);
  if (drift.length > 0) {
    reporter.onNotice(`The sandbox ${found.name} was made with other settings: ${describeDrift(drift)}.`);
  }
  switch (found.state) {
    case "running":
      return { id: found.id, name: found.name, how: "attached", drift };
    case "restarting":
    case "removing":
    case "dead":
      return passBy(search, found);
    default:
      return start(search, found, drift);
  }
}

function requireOurs(found: Container, spec: SandboxSpec): void {
  const { name } = found;
  if (belongsTo(found, spec)) return;
  throw new AppError("sandbox-refused", `There is a container ${name} that is not ours; it was left alone.`, {
    hint: `Rename or remove it yourself (\`docker rename ${name} NEW-NAME\`).`,
  });
}

/** Why the container may not be used as it is; throws where the settings say to refuse instead. */
async function reasonToReplace(
  { engine, spec, reporter, signal }: Search,
  found: Container,
  drift: readonly FieldDrift[],
): Promise<string | undefined> {
  const exposed = !spec.network && found.host.NetworkMode !== "none";
  if (drift.length === 0 && !exposed) return undefined;
  if (spec.onDrift === "refuse") {
    const differences = drift.length > 0 ? describeDrift(drift) : "it has a network";
    throw new AppError(
      "sandbox-drifted",
      `The sandbox ${found.name} was made with other settings: ${differences}.`,
    );
  }
  // Whatever else is kept: who asked for no network never gets one.
  if (exposed) return "it has a network, and terminal.docker_network is false";
  if (spec.onDrift === "keep") return undefined;
  const use = found.state === "running" ? await findUse(engine, found.id, signal) : undefined;
  if (use?.isHeld || (use?.jobs ?? []).length > 0) {
    reporter.onNotice(`The sandbox ${found.name} is in use and will be replaced when nobody uses it.`);
    return undefined;
  }
  return `it was made with other settings: ${describeDrift(drift)}`;
}

async function start(
  search: Search,
  found: Container,
  drift: readonly FieldDrift[],
): Promise<EnsuredSandbox | undefined> {
  const started = await startContainer(search.engine, found, search.signal);
  if (!("complaint" in started)) return { id: found.id, name: found.name, how: "started", drift };
  if (started.container === undefined) return undefined;
  return replace(search, found, `it cannot be started: ${started.complaint}`);
}

/** Waits for a container that is coming or going; one that stays so is worked around. */
async function passBy(search: Search, found: Container): Promise<EnsuredSandbox | undefined> {
  if (!search.isPatient()) return replace(search, found, `it stays ${found.state}`);
  while (search.isPatient()) {
    await systemClock.sleep(PAUSE_MS, search.signal);
    const now = await findContainer(search.engine, found.id, search.signal);
    if (now?.state !== found.state || now.name !== found.name) break;
  }
  return undefined;
}

/**
 * Moves a container of ours out of the way, makes a new one in its place, and only then removes the old one. Each step
 * is written down before it is done, so that whoever comes after a kill can finish it or take it back.
 */
async function replace(search: Search, old: Container, reason: string): Promise<EnsuredSandbox | undefined> {
  const { engine, spec, reporter, signal } = search;
  await ensureImage(engine, spec, reporter, signal); // before anything is moved, because it may take long
  return withTaskLock(spec, spec.task, signal, async () => {
    if ((await findSandbox(engine, spec, signal))?.id !== old.id) return undefined; // somebody else has replaced it
    const about = { kind: "replace", task: spec.task, key: sandboxKey(spec.profileId, spec.task) } as const;
    const operation = await beginOperation(spec, createSnapshotId(Date.now()), about, signal);
    const aside = asideName(spec.name, Date.now());
    await operation.note({ aside: { container: aside }, old: old.id });
    const moved = await engine.run(["rename", old.id, aside], { timeoutMs: RENAME_TIMEOUT_MS }, signal);
    if (!succeeded(moved)) {
      await operation.end();
      const now = await findContainer(engine, old.id, signal);
      if (now?.name !== old.name) return undefined; // somebody has removed or renamed it
      throw new AppError(
        "sandbox-unavailable",
        `The sandbox ${old.name} must be replaced, because ${reason}, but cannot be moved aside: ${complaintOf(moved)}`,
      );
    }
    let made: EnsuredSandbox | undefined;
    try {
      made = await make(search, "replaced");
    } catch (error) {
      const back = ["rename", old.id, spec.name];
      const returned = await engine.run(
        back,
        { timeoutMs: RENAME_TIMEOUT_MS },
        AbortSignal.timeout(CLEANUP_MS),
      );
      if (succeeded(returned)) await operation.end();
      throw error;
    }
    reporter.onNotice(`The sandbox ${old.name} was replaced, because ${reason}.`);
    const removal = await removeSandbox(engine, old.id, signal);
    if (removal.outcome === "failed") {
      reporter.onNotice(`The old one is left as ${aside}, because it cannot be removed: ${removal.reason}`);
    } else await forgetSandbox(spec, old.id);
    await operation.end();
    return made;
  });
}
