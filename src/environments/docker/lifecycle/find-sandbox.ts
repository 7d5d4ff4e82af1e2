import { AppError } from "../../../lib/errors.ts";
import type { Engine } from "../engine/engine.ts";
import { isOurs, LABEL, sanitiseLabel, taskLabel } from "../spec/labels.ts";
import { isReplacedNameOf, isUniqueNameOf } from "../spec/sandbox-names.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { type Container, findContainer, listContainers } from "./container.ts";

/** The profile and task that a sandbox belongs to, and its name unless the user renamed it. */
export type SandboxOwner = Pick<SandboxSpec, "name" | "profileId" | "task">;

/**
 * Finds the container that is the sandbox of a task: by its name first, because that is fast, then by its labels, so
 * that a renamed container is found too. If there is none, returns the container of another program that has the name.
 */
export async function findSandbox(
  engine: Engine,
  owner: SandboxOwner,
  signal: AbortSignal,
): Promise<Container | undefined> {
  const named = await findContainer(engine, owner.name, signal);
  if (named !== undefined && belongsTo(named, owner)) return named;
  const renamed = (await listOfTask(engine, owner, signal)).filter(
    ({ name }) => !isReplacedNameOf(name, owner.name) && !isUniqueNameOf(name, owner.name),
  );
  return renamed.find(({ state }) => state === "running") ?? renamed[0] ?? named;
}

/**
 * Finds the container that the user chose by name or id, of any task; without a choice, the container of the task.
 * Outside persist mode a task may have several sandboxes; then the user must choose one.
 */
export async function findChosenSandbox(
  engine: Engine,
  owner: SandboxOwner & Pick<SandboxSpec, "persistAcrossProcesses">,
  chosen: string | undefined,
  signal: AbortSignal,
): Promise<Container | undefined> {
  if (chosen !== undefined) {
    const found = await findContainer(engine, chosen, signal);
    const isOwn = found && isOurs(found.labels) && found.labels[LABEL.profileId] === owner.profileId;
    if (isOwn) return found;
    const hint = "See `hermes sandbox list`.";
    throw new AppError("sandbox-unavailable", `This profile has no sandbox ${chosen}.`, { hint });
  }
  if (owner.persistAcrossProcesses) return findSandbox(engine, owner, signal);
  const [only, ...others] = await listOfTask(engine, owner, signal);
  if (only === undefined || others.length === 0) return only;
  const names = [only, ...others].map(({ name }) => name).join(", ");
  throw new AppError("sandbox-unavailable", `The task ${owner.task} has several sandboxes: ${names}.`, {
    hint: "Choose one by its name.",
  });
}

/** Lists the containers of the task that were moved aside for a replacement, newest first. */
export async function listReplaced(
  engine: Engine,
  owner: SandboxOwner,
  signal: AbortSignal,
): Promise<Container[]> {
  const all = await listOfTask(engine, owner, signal);
  return all
    .filter(({ name }) => isReplacedNameOf(name, owner.name))
    .toSorted((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0));
}

/** Whether Hermes created the container for that profile and task. */
export function belongsTo({ labels }: Pick<Container, "labels">, { profileId, task }: SandboxOwner): boolean {
  return isOurs(labels) && labels[LABEL.profileId] === profileId && labels[LABEL.task] === taskLabel(task);
}

async function listOfTask(engine: Engine, owner: SandboxOwner, signal: AbortSignal): Promise<Container[]> {
  const filters = [
    `label=${LABEL.profileId}=${owner.profileId}`,
    `label=${LABEL.taskId}=${sanitiseLabel(owner.task)}`,
  ];
  const all = await listContainers(engine, filters, {}, signal);
  return all.filter((container) => belongsTo(container, owner));
}
