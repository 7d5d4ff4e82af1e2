import { AppError } from "../../../lib/errors.ts";
import { findContainer } from "../container.ts";
import { complaintOf, type Engine, succeeded } from "../engine.ts";
import type { SandboxPlace } from "../sandbox-record.ts";
import { moveFolder, type OperationRecord } from "./operation.ts";
import { keyFolder } from "./plant-sandbox.ts";

const RENAME_TIMEOUT_MS = 10_000;

/** Gives the task what was moved aside, unless something else stands there. */
export async function putBack(
  engine: Engine,
  place: SandboxPlace,
  spec: { readonly name: string; readonly task: string },
  aside: NonNullable<OperationRecord["aside"]>,
  signal: AbortSignal,
): Promise<void> {
  if ((await findContainer(engine, spec.name, signal)) !== undefined) return;
  // The folder first: as long as the container has no name, nobody begins to work in another one.
  if (aside.folder !== undefined) await moveFolder(aside.folder, keyFolder(place, spec.task));
  const old =
    aside.container === undefined ? undefined : await findContainer(engine, aside.container, signal);
  if (old !== undefined) await renameContainer(engine, old.id, spec.name, signal);
}

export async function renameContainer(
  engine: Engine,
  id: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const renamed = await engine.run(["rename", id, name], { timeoutMs: RENAME_TIMEOUT_MS }, signal);
  if (succeeded(renamed)) return;
  throw new AppError(
    "sandbox-unavailable",
    `The sandbox cannot be renamed to ${name}: ${complaintOf(renamed)}`,
  );
}
