import { randomBytes } from "node:crypto";
import { systemClock } from "../../lib/clock.ts";
import { AppError } from "../../lib/errors.ts";
import { ownIdentity, serialiseIdentity } from "../../lib/process-identity.ts";
import { type Container, findContainer, listContainerIds } from "./container.ts";
import { type CreateFacts, createArguments } from "./create-arguments.ts";
import { complaintOf, type Engine, succeeded } from "./engine.ts";
import { LABEL } from "./labels.ts";
import { uniqueName } from "./sandbox-names.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";

const CREATE_TIMEOUT_MS = 120_000;
const RENAME_TIMEOUT_MS = 10_000;
const CLEANUP_MS = 15_000;
const REMOVE_TIMEOUT_MS = 10_000;
/** How long a container that already has its name may take to show up in the engine's lists. */
const APPEARING_MS = 3_000;
const NAME_WAIT_MS = 20_000;
const LONGEST_PAUSE_MS = 400;
/** However long a look takes. */
const FEWEST_LOOKS = 4;

export type Creation =
  | { readonly id: string }
  /** Somebody else has a container of that name. */
  | { readonly winner: Container }
  | { readonly complaint: string };

/**
 * Creates the container under the spec's name, which the engine gives only once: of any number of processes that try,
 * one gets an id and the others the winner. Does not start it. Leaves nothing behind when it fails.
 */
export async function createContainer(
  engine: Engine,
  spec: SandboxSpec,
  facts: CreateFacts,
  signal: AbortSignal,
): Promise<Creation> {
  const made = await create(engine, spec, spec.name, facts, signal);
  if ("id" in made) return made;
  const winner = await appearing(engine, spec.name, APPEARING_MS, signal);
  if (winner !== undefined) return { winner };
  // Was it the name, or something else? Under another name only the something else is left.
  const spare = await create(engine, spec, uniqueName(spec.name), facts, signal);
  return "id" in spare ? claimName(engine, spec.name, spare.id, signal) : spare;
}

/** Moves a container of ours to the name, or finds who has it. */
async function claimName(engine: Engine, name: string, id: string, signal: AbortSignal): Promise<Creation> {
  try {
    const deadline = performance.now() + NAME_WAIT_MS;
    while (performance.now() < deadline) {
      const renamed = await engine.run(["rename", id, name], { timeoutMs: RENAME_TIMEOUT_MS }, signal);
      if (succeeded(renamed)) return { id };
      const winner = await appearing(engine, name, LONGEST_PAUSE_MS, signal);
      if (winner === undefined) continue;
      if (winner.id === id) return { id };
      await removeUnused(engine, id);
      return { winner };
    }
  } catch (error) {
    await removeUnused(engine, id);
    throw error;
  }
  await removeUnused(engine, id);
  throw new AppError("sandbox-unavailable", `The engine neither gives the name ${name} nor says who has it.`);
}

async function appearing(
  engine: Engine,
  name: string,
  patienceMs: number,
  signal: AbortSignal,
): Promise<Container | undefined> {
  const deadline = performance.now() + patienceMs;
  let pauseMs = 50;
  for (let looks = 1; ; looks++) {
    const found = await findContainer(engine, name, signal);
    if (found !== undefined || (looks >= FEWEST_LOOKS && performance.now() >= deadline)) return found;
    await systemClock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
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
    : { ...spec, owner: serialiseIdentity(await ownIdentity(signal)) };
  const { args, variables, stdin } = createArguments(owned, name, creation, facts);
  let complaint: string;
  try {
    const result = await engine.run(args, { timeoutMs: CREATE_TIMEOUT_MS, variables, stdin }, signal);
    const id = result.stdout.trim().split("\n").at(-1) ?? "";
    if (succeeded(result) && /^[0-9a-f]{64}$/.test(id)) return { id };
    complaint = complaintOf(result);
    if (!result.timedOut) return { complaint };
  } catch (error) {
    await removeCreation(engine, creation);
    throw error;
  }
  await removeCreation(engine, creation);
  return { complaint };
}

/** The client went away in the middle: what the engine made nevertheless is known by its label. */
async function removeCreation(engine: Engine, creation: string): Promise<void> {
  const signal = AbortSignal.timeout(CLEANUP_MS);
  try {
    const [id] = await listContainerIds(engine, [`label=${LABEL.creation}=${creation}`], signal);
    if (id !== undefined) await removeUnused(engine, id);
  } catch {
    // The reason why we are here says more; the reaper takes a container that nobody started.
  }
}

/**
 * Removes a container that we made, unless somebody has started it meanwhile: without force the engine itself refuses.
 * Says whether it did.
 */
export async function removeUnused(engine: Engine, id: string): Promise<boolean> {
  const signal = AbortSignal.timeout(CLEANUP_MS);
  return succeeded(await engine.run(["rm", "--volumes", id], { timeoutMs: REMOVE_TIMEOUT_MS }, signal));
}
