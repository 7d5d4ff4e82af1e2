import { randomBytes } from "node:crypto";
import { AppError } from "../../../lib/errors.ts";
import { readOwnIdentity, serialiseIdentity } from "../../../lib/process/process-identity.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { type Engine, formatFailure, succeeded } from "../engine/engine.ts";
import { type CreateFacts, createArguments } from "../spec/create-arguments.ts";
import { LABEL } from "../spec/labels.ts";
import { uniqueName } from "../spec/sandbox-names.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { type Container, findContainer, listContainerIds } from "./container.ts";

const CREATE_TIMEOUT_MS = 120_000;
const RENAME_TIMEOUT_MS = 10_000;
const CLEANUP_MS = 15_000;
const REMOVE_TIMEOUT_MS = 10_000;
/** How long a container may hold its name before the engine lists it. */
const APPEARING_MS = 3_000;
const NAME_WAIT_MS = 20_000;
const MAX_PAUSE_MS = 400;
/** A slow poll may use up all the time; poll this often in any case. */
const MIN_POLLS = 4;

export type Creation =
  | { readonly id: string }
  /** Another process has a container of that name. */
  | { readonly winner: Container }
  | { readonly complaint: string };

/**
 * Creates the container under the spec's name, without starting it. The engine gives each name only once: of several
 * concurrent processes one gets an id and the others get the winner. A failure leaves no container behind.
 */
export async function createContainer(
  engine: Engine,
  spec: SandboxSpec,
  facts: CreateFacts,
  signal: AbortSignal,
): Promise<Creation> {
  const created = await create(engine, spec, spec.name, facts, signal);
  if ("id" in created) return created;
  const winner = await pollContainer(engine, spec.name, APPEARING_MS, signal);
  if (winner !== undefined) return { winner };
  // Try a unique name: if that fails too, the cause was not a name conflict.
  const spare = await create(engine, spec, uniqueName(spec.name), facts, signal);
  return "id" in spare ? claimName(engine, spec.name, spare.id, signal) : spare;
}

/** Renames our container to the name, or finds the container that has the name. */
async function claimName(engine: Engine, name: string, id: string, signal: AbortSignal): Promise<Creation> {
  try {
    const deadline = performance.now() + NAME_WAIT_MS;
    while (performance.now() < deadline) {
      const renamed = await engine.run(["rename", id, name], RENAME_TIMEOUT_MS, signal);
      if (succeeded(renamed)) return { id };
      const winner = await pollContainer(engine, name, MAX_PAUSE_MS, signal);
      if (winner === undefined) continue;
      if (winner.id === id) return { id };
      await removeUnlessRunning(engine, id);
      return { winner };
    }
  } catch (error) {
    await removeUnlessRunning(engine, id);
    throw error;
  }
  await removeUnlessRunning(engine, id);
  throw new AppError(
    "sandbox-unavailable",
    `The engine refuses the container name ${name}, but lists no container that has it.`,
  );
}

async function pollContainer(engine: Engine, name: string, timeoutMs: number, signal: AbortSignal) {
  const deadline = performance.now() + timeoutMs;
  let pauseMs = 50;
  for (let polls = 1; ; polls++) {
    const found = await findContainer(engine, name, signal);
    if (found !== undefined || (polls >= MIN_POLLS && performance.now() >= deadline)) return found;
    await systemClock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }
}

async function create(
  engine: Engine,
  spec: SandboxSpec,
  name: string,
  facts: CreateFacts,
  signal: AbortSignal,
): Promise<{ readonly id: string } | { readonly complaint: string }> {
  const creation = randomBytes(8).toString("hex");
  const owned = spec.persistAcrossProcesses
    ? spec
    : { ...spec, owner: serialiseIdentity(await readOwnIdentity(signal)) };
  const { args, variables, stdin } = createArguments(owned, name, creation, facts);
  let complaint: string;
  try {
    const result = await engine.run(args, { timeoutMs: CREATE_TIMEOUT_MS, variables, stdin }, signal);
    const id = result.stdout.trim().split("\n").at(-1) ?? "";
    if (succeeded(result) && /^[0-9a-f]{64}$/.test(id)) return { id };
    complaint = formatFailure(result);
    if (!result.timedOut) return { complaint };
  } catch (error) {
    await removeCreation(engine, creation);
    throw error;
  }
  await removeCreation(engine, creation);
  return { complaint };
}

/** Removes the container that the engine may have created after the client was killed; its label identifies it. */
async function removeCreation(engine: Engine, creation: string): Promise<void> {
  const signal = AbortSignal.timeout(CLEANUP_MS);
  try {
    const [id] = await listContainerIds(engine, [`label=${LABEL.creation}=${creation}`], signal);
    if (id !== undefined) await removeUnlessRunning(engine, id);
  } catch {
    // The original failure matters more, and the reaper removes containers that were never started.
  }
}

/**
 * Removes a container that we created, unless another process has started it since: without --force the engine refuses
 * to remove a running container. Returns whether the container was removed.
 */
export async function removeUnlessRunning(engine: Engine, id: string): Promise<boolean> {
  const signal = AbortSignal.timeout(CLEANUP_MS);
  return succeeded(await engine.run(["rm", "--volumes", id], REMOVE_TIMEOUT_MS, signal));
}
