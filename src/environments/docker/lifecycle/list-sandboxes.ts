import { type FindJobCommands, findNoCommands, type JobCommand } from "../../jobs/job-command.ts";
import type { Engine } from "../engine/engine.ts";
import { findUse } from "../isolation/sandbox-processes.ts";
import { type KeepRules, keptUntil, loadRecordStatuses, type RecordStatus } from "../reclaim/keep-rules.ts";
import { listOperations } from "../recovery/operation.ts";
import { measureFolder } from "../snapshots/copy-folder.ts";
import { isOurs, LABEL, sanitiseLabel } from "../spec/labels.ts";
import { sandboxKey } from "../spec/sandbox-names.ts";
import { type ComparableSpec, type FieldDrift, findDrift } from "../spec/spec-fields.ts";
import { type Container, listContainers } from "./container.ts";
import { findLastUse } from "./last-use.ts";
import { describeHolders, type HolderDescription } from "./sandbox-holders.ts";
import type { SandboxStore } from "./sandbox-record.ts";

const CONCURRENCY = 4;
/** How the host path of a kept folder ends, by its mount point. */
const KEPT_FOLDERS: Readonly<Record<string, string>> = { "/root": "/home", "/workspace": "/workspace" };

/** A sandbox in the output of `sandbox list`. */
export interface SandboxRow {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly image: string;
  readonly profile: string;
  readonly task: string;
  readonly created_at: string | null;
  /** Null when the time of last use is not known. */
  readonly last_used_at: string | null;
  /** When a stopped sandbox will be removed; null while it runs, and if no such time is known. */
  readonly kept_until: string | null;
  /** Whether a process has a channel into the sandbox now. */
  readonly leased: boolean;
  /** The processes that have a channel, as far as they are visible. */
  readonly held_by: readonly HolderDescription[];
  readonly jobs: readonly JobCommand[];
  readonly drift: readonly FieldDrift[];
  readonly size_bytes: number | null;
  /** Size of the folders on the host; null when it was not requested or the sandbox has no such folders. */
  readonly files_bytes: number | null;
  /** The snapshot or fork that the sandbox was created from. */
  readonly origin: string | null;
  /** What it may use; null means no limit. */
  readonly limits: {
    readonly cpus: number | null;
    readonly memory_bytes: number | null;
    readonly pids: number | null;
  };
  /** False for a container of another program: it is listed, but never adopted or removed. */
  readonly ours: boolean;
}

export interface SandboxQuery {
  /** Undefined lists the sandboxes of all profiles. */
  readonly profile: { readonly name: string; readonly id: string } | undefined;
  /** The profiles whose records can be read. */
  readonly stores: readonly (SandboxStore & { readonly name: string })[];
  readonly keepRules: KeepRules;
  /** Measure sizes, which is slow. */
  readonly withSize: boolean;
  /** If absent, rows contain only the ids of jobs. */
  readonly lookUpJobs?: FindJobCommands;
  /** The spec that the current settings give a task; the sandbox is compared with it. */
  specOf(task: string, profileId: string): Promise<ComparableSpec | undefined>;
}

/** Lists every sandbox of one profile or of all profiles, including containers of other programs. */
export async function listSandboxes(
  engine: Engine,
  query: SandboxQuery,
  signal: AbortSignal,
): Promise<SandboxRow[]> {
  const { profile, withSize } = query;
  const statusOf = await loadRecordStatuses(query.stores);
  const all = await listContainers(engine, [`label=${LABEL.agent}=1`], { withSize }, signal);
  const containers = all.filter(({ labels }) => profile === undefined || belongsTo(labels, profile));
  const operations = await Promise.all(
    query.stores.map((store) => listOperations(store, Date.now(), signal)),
  );
  const keysInOperation = new Set(operations.flat().map(({ record }) => record?.key));
  const rows: SandboxRow[] = [];
  for (let next = 0; next < containers.length; next += CONCURRENCY) {
    const batch = containers.slice(next, next + CONCURRENCY);
    rows.push(
      ...(await Promise.all(
        batch.map(async (container) =>
          createRow(engine, container, await statusOf(container, signal), query, keysInOperation, signal),
        ),
      )),
    );
  }
  return rows;
}

/** Containers of other programs have no profile id, only the profile's name. */
function belongsTo(
  labels: Container["labels"],
  { name, id }: { readonly name: string; readonly id: string },
): boolean {
  if (isOurs(labels)) return labels[LABEL.profileId] === id;
  return labels[LABEL.profile] === sanitiseLabel(name, "default");
}

async function createRow(
  engine: Engine,
  container: Container,
  recordStatus: RecordStatus,
  { specOf, withSize, keepRules, stores, lookUpJobs = findNoCommands }: SandboxQuery,
  keysInOperation: ReadonlySet<string | undefined>,
  signal: AbortSignal,
): Promise<SandboxRow> {
  const { labels, state } = container;
  const isRunning = state === "running";
  const { [LABEL.profileId]: profileId = "", [LABEL.task]: ownTask = "" } = labels;
  // Reading the last use starts a command in the container, which must not happen while an operation freezes it.
  const mayExec = isRunning && !keysInOperation.has(sandboxKey(profileId, ownTask));
  const [use, lastUse] = await Promise.all([
    isRunning ? findUse(engine, container.id, signal) : { isHeld: false, holders: [], jobs: [] },
    mayExec ? findLastUse(engine, container, signal) : container.finishedAt,
  ]);
  const task = labels[LABEL.task] ?? labels[LABEL.taskId] ?? "";
  const ours = isOurs(labels);
  const owner = ours ? stores.find(({ profileId }) => profileId === labels[LABEL.profileId]) : undefined;
  const spec = ours ? await specOf(task, labels[LABEL.profileId] ?? "") : undefined;
  return {
    id: container.id,
    name: container.name,
    state,
    image: container.image,
    // Labels are immutable, and the profile may have been renamed since.
    profile: owner?.name ?? labels[LABEL.profile] ?? "",
    task,
    created_at: formatTime(container.createdAt),
    last_used_at: formatTime(lastUse),
    kept_until: ours ? formatTime(keptUntil(container, recordStatus, keepRules)) : null,
    leased: use.isHeld,
    held_by: await describeHolders(use.holders, signal),
    jobs: await lookUpJobs(use.jobs, signal),
    drift: spec === undefined ? [] : findDrift(container, spec),
    size_bytes: container.sizeBytes ?? null,
    files_bytes: withSize && ours ? await measureKeptFolders(engine, container, signal) : null,
    origin: labels[LABEL.origin] ?? null,
    limits: limitsOf(container),
    ours,
  };
}

function limitsOf({ host: { NanoCpus, Memory, PidsLimit } }: Container): SandboxRow["limits"] {
  return {
    cpus: NanoCpus ? NanoCpus / 1e9 : null,
    memory_bytes: Memory || null,
    pids: PidsLimit && PidsLimit > 0 ? PidsLimit : null,
  };
}

/** Measures the folders that we keep for a sandbox; their mount point and the end of their path identify them. */
async function measureKeptFolders(engine: Engine, { mounts }: Container, signal: AbortSignal) {
  const kept = mounts.flatMap(({ Type, Source, Destination }) => {
    const folder = KEPT_FOLDERS[Destination];
    return Type === "bind" && folder !== undefined && Source?.endsWith(folder) ? [Source] : [];
  });
  if (kept.length === 0) return null;
  let bytes = 0;
  for (const folder of kept) bytes += await measureFolder(engine, folder, signal);
  return bytes;
}

function formatTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
