import { AppError } from "../../lib/errors.ts";
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

/**
 * The container that a person means: of that name or id, whichever task it belongs to, else that of the task. Where each
 * process has a sandbox of its own, a task may have several, and then one must be named.
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
    throw new AppError("sandbox-unavailable", `There is no sandbox ${chosen} of this profile.`, {
      hint: "See `hermes sandbox list`.",
    });
  }
  if (owner.persistAcrossProcesses) return findSandbox(engine, owner, signal);
  const [only, ...others] = await listOfTask(engine, owner, signal);
  if (only === undefined || others.length === 0) return only;
  const names = [only, ...others].map(({ name }) => name).join(", ");
  throw new AppError("sandbox-unavailable", `The task ${owner.task} has several sandboxes: ${names}.`, {
    hint: "Say which one you mean, by its name.",
  });
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
