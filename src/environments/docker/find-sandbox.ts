import { type Container, findContainer, listContainers } from "./container.ts";
import type { Engine } from "./engine.ts";
import { isOurs, LABEL, sanitiseLabel, taskLabel } from "./labels.ts";
import { isAsideOf, isUniqueOf } from "./sandbox-names.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";

/** Whose sandbox is meant, and what it is called unless somebody renamed it. */
export type SandboxOwner = Pick<SandboxSpec, "name" | "profileId" | "task">;

/**
 * The container that is the sandbox of a task. Its name is looked at first, because that is quick; what it is says its
 * labels, so that one which somebody renamed is found too. A stranger's container of that name is the last resort.
 */
export async function findSandbox(
  engine: Engine,
  owner: SandboxOwner,
  signal: AbortSignal,
): Promise<Container | undefined> {
  const named = await findContainer(engine, owner.name, signal);
  if (named !== undefined && belongsTo(named, owner)) return named;
  const renamed = (await listOfTask(engine, owner, signal)).filter(
    ({ name }) => !isAsideOf(name, owner.name) && !isUniqueOf(name, owner.name),
  );
  return renamed.find(({ state }) => state === "running") ?? renamed[0] ?? named;
}

/** Containers of the task that were moved aside for another one, the newest first. */
export async function listAside(
  engine: Engine,
  owner: SandboxOwner,
  signal: AbortSignal,
): Promise<Container[]> {
  const all = await listOfTask(engine, owner, signal);
  return all
    .filter(({ name }) => isAsideOf(name, owner.name))
    .toSorted((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0));
}

/** Whether we made the container for that profile and that task. */
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
