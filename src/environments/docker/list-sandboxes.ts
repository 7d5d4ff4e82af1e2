import { type LookUpJobs, lookUpNothing, type SeenJob } from "../jobs/seen-job.ts";
import { type Container, listContainers } from "./container.ts";
import type { Engine } from "./engine.ts";
import { isOurs, LABEL, sanitiseLabel } from "./labels.ts";
import { findLastUse } from "./last-use.ts";
import { sandboxKey } from "./sandbox-names.ts";
import { findUse } from "./sandbox-processes.ts";
import type { SandboxPlace } from "./sandbox-record.ts";
import { sizeOf } from "./snapshots/copy-folder.ts";
import { listOperations } from "./snapshots/operation.ts";
import { type ComparableSpec, type FieldDrift, findDrift } from "./spec-fields.ts";
import { type KeepRules, keptUntil, loadStandings, type Standing } from "./stopped-sandbox.ts";

const AT_ONCE = 4;
const KEPT: Readonly<Record<string, string>> = { "/root": "/home", "/workspace": "/workspace" };

/** A sandbox as it is printed. */
export interface SandboxRow {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly image: string;
  readonly profile: string;
  readonly task: string;
  readonly created_at: string | null;
  /** When it was last used; null when that is not known. */
  readonly last_used_at: string | null;
  /** When it will be removed unless somebody starts it; null while it runs, and when there is no such moment. */
  readonly kept_until: string | null;
  /** Somebody has a channel into it now. */
  readonly leased: boolean;
  /** The jobs that run in it. */
  readonly jobs: readonly SeenJob[];
  readonly drift: readonly FieldDrift[];
  readonly size_bytes: number | null;
  /** What its folders on the host take; null when nobody asked or it has none. */
  readonly files_bytes: number | null;
  /** The snapshot or fork that it began with. */
  readonly origin: string | null;
  /** False for one that another program made: it is shown, but never adopted or removed. */
  readonly ours: boolean;
}

export interface SandboxQuery {
  /** Undefined lists those of all profiles. */
  readonly profile: { readonly name: string; readonly id: string } | undefined;
  /** The profiles whose records are known here. */
  readonly places: readonly (SandboxPlace & { readonly name: string })[];
  readonly keep: KeepRules;
  /** Ask for sizes, which takes long. */
  readonly withSize: boolean;
  /** Without it, jobs are named by their ids alone. */
  readonly lookUpJobs?: LookUpJobs;
  /** The spec that a task would be given today, to compare with. */
  specOf(task: string, profileId: string): Promise<ComparableSpec | undefined>;
}

/** Every sandbox of the profile, or of all, those that other programs made included. */
export async function listSandboxes(
  engine: Engine,
  query: SandboxQuery,
  signal: AbortSignal,
): Promise<SandboxRow[]> {
  const { profile, withSize } = query;
  const standingOf = await loadStandings(query.places);
  const all = await listContainers(engine, [`label=${LABEL.agent}=1`], { withSize }, signal);
  const containers = all.filter(({ labels }) => profile === undefined || belongsTo(labels, profile));
  const underWay = await Promise.all(query.places.map((place) => listOperations(place, Date.now(), signal)));
  const changing = new Set(underWay.flat().map(({ record }) => record?.key));
  const rows: SandboxRow[] = [];
  for (let next = 0; next < containers.length; next += AT_ONCE) {
    const batch = containers.slice(next, next + AT_ONCE);
    rows.push(
      ...(await Promise.all(
        batch.map(async (container) =>
          rowOf(engine, container, await standingOf(container, signal), query, changing, signal),
        ),
      )),
    );
  }
  return rows;
}

/** Containers of other programs know the profile only by its name. */
function belongsTo(
  labels: Container["labels"],
  { name, id }: { readonly name: string; readonly id: string },
): boolean {
  if (isOurs(labels)) return labels[LABEL.profileId] === id;
  return labels[LABEL.profile] === sanitiseLabel(name, "default");
}

async function rowOf(
  engine: Engine,
  container: Container,
  standing: Standing,
  { specOf, withSize, keep, places, lookUpJobs = lookUpNothing }: SandboxQuery,
  changing: ReadonlySet<string | undefined>,
  signal: AbortSignal,
): Promise<SandboxRow> {
  const { labels, state } = container;
  const runs = state === "running";
  const { [LABEL.profileId]: profileId = "", [LABEL.task]: ownTask = "" } = labels;
  // To ask a container starts a command in it, which must not happen when it is about to be held still.
  const mayAsk = runs && !changing.has(sandboxKey(profileId, ownTask));
  const [use, lastUse] = await Promise.all([
    runs ? findUse(engine, container.id, signal) : { isHeld: false, jobs: [] },
    mayAsk ? findLastUse(engine, container, signal) : container.finishedAt,
  ]);
  const task = labels[LABEL.task] ?? labels[LABEL.taskId] ?? "";
  const ours = isOurs(labels);
  const owner = ours ? places.find(({ profileId }) => profileId === labels[LABEL.profileId]) : undefined;
  const spec = ours ? await specOf(task, labels[LABEL.profileId] ?? "") : undefined;
  return {
    id: container.id,
    name: container.name,
    state,
    image: container.image,
    // A label cannot change: the profile may have another name by now.
    profile: owner?.name ?? labels[LABEL.profile] ?? "",
    task,
    created_at: moment(container.createdAt),
    last_used_at: moment(lastUse),
    kept_until: ours ? moment(keptUntil(container, standing, keep)) : null,
    leased: use.isHeld,
    jobs: await lookUpJobs(use.jobs, signal),
    drift: spec === undefined ? [] : findDrift(container, spec),
    size_bytes: container.sizeBytes ?? null,
    files_bytes: withSize && ours ? await filesOf(engine, container, signal) : null,
    origin: labels[LABEL.origin] ?? null,
    ours,
  };
}

/** The folders that we keep for it, known by their names below our own folder. */
async function filesOf(engine: Engine, { mounts }: Container, signal: AbortSignal): Promise<number | null> {
  const kept = mounts.flatMap(({ Type, Source, Destination }) => {
    const folder = KEPT[Destination];
    return Type === "bind" && folder !== undefined && Source?.endsWith(folder) ? [Source] : [];
  });
  if (kept.length === 0) return null;
  let bytes = 0;
  for (const folder of kept) bytes += await sizeOf(engine, folder, signal);
  return bytes;
}

function moment(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
