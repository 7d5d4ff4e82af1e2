import { rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../../lib/files/files.ts";
import { listNames } from "../../../lib/files/unless-missing.ts";
import {
  checkLiveness,
  parseIdentity,
  readOwnIdentity,
  serialiseIdentity,
} from "../../../lib/process/process-identity.ts";
import { parseJson } from "../engine/parse-json.ts";
import type { SandboxStore } from "../lifecycle/sandbox-record.ts";
import { snapshotsFolder } from "../snapshots/snapshot-store.ts";

const RECORD_FILE = "operation.json";
/** How long a process may take to start an operation; after that, the process is assumed to have died. */
const BEGINNING_MS = 15 * 60 * 1_000;

const record = z.object({
  version: z.literal(1),
  kind: z.enum(["snapshot", "fork", "restore", "replace"]),
  owner: z.string(),
  task: z.string(),
  /** Name of the sandbox's folder below `docker/`. */
  key: z.string(),
  /** The new name of the container and the new path of the folder that are being replaced. */
  aside: z.object({ container: z.string().optional(), folder: z.string().optional() }).optional(),
  /** Id of the container that is being replaced. */
  old: z.string().optional(),
  /** Id of the new container, once only its final rename is missing. Stored records have this name. */
  planted: z.string().optional(),
  /** The container that is frozen during the operation, and its task. */
  frozen: z.object({ container: z.string(), task: z.string() }).optional(),
  /** Whether a snapshot holds the files that are moved aside, so that they can be removed. */
  kept: z.boolean().optional(),
});
export type OperationRecord = z.infer<typeof record>;
type Progress = Pick<OperationRecord, "aside" | "old" | "planted" | "frozen" | "kept">;

/**
 * A multi-step operation in progress. Its folder records the owner process and the progress, so that the next process can
 * distinguish an abandoned operation from a slow one, and finish it or roll it back.
 */
export interface Operation {
  readonly id: string;
  readonly folder: string;
  /** Records the next step before it is taken; adds to the earlier progress. */
  note(progress: Progress): Promise<void>;
  /** Removes the record and the folder of an operation that is finished or rolled back. */
  end(): Promise<void>;
}

function workFolder(store: SandboxStore): string {
  return join(snapshotsFolder(store), "work");
}

/** Operations are prepared here and then renamed, so that every operation in the work folder has a record. */
function beginningFolder(store: SandboxStore): string {
  return join(snapshotsFolder(store), "beginning");
}

export async function beginOperation(
  store: SandboxStore,
  id: string,
  subject: Pick<OperationRecord, "kind" | "task" | "key">,
  signal: AbortSignal,
): Promise<Operation> {
  const owner = serialiseIdentity(await readOwnIdentity(signal));
  const folder = join(workFolder(store), id);
  const beginning = join(beginningFolder(store), id);
  await Promise.all([workFolder(store), beginning].map((path) => ensurePrivateFolder(path)));
  let current: OperationRecord = { version: 1, owner, ...subject };
  const write = (into: string) =>
    writeFileAtomic(join(into, RECORD_FILE), JSON.stringify(current), { mode: 0o600 });
  try {
    await write(beginning);
    await rename(beginning, folder);
  } catch (error) {
    await removeFolder(beginning).catch(() => undefined); // removeIncompleteOperations removes it later
    throw error;
  }
  return {
    id,
    folder,
    async note(progress) {
      current = { ...current, ...progress };
      await write(folder);
    },
    end: () => removeFolder(folder),
  };
}

/** Whether there may be operations. Hot path: called before each command. */
export async function hasOperations(store: SandboxStore): Promise<boolean> {
  return (await listNames(workFolder(store))).length > 0;
}

/** An operation found on disk; its owner process may have died. */
export interface StoredOperation {
  readonly id: string;
  readonly folder: string;
  readonly record: OperationRecord | undefined;
  /** Why the operation must not be recovered; undefined when its owner process has provably exited. */
  readonly busyReason: string | undefined;
}

export async function listOperations(
  store: SandboxStore,
  now: number,
  signal: AbortSignal,
): Promise<StoredOperation[]> {
  const found: StoredOperation[] = [];
  for (const id of await listNames(workFolder(store))) {
    const folder = join(workFolder(store), id);
    const text = await readTextFile(join(folder, RECORD_FILE));
    const { data } = record.safeParse(parseJson(text ?? ""));
    found.push({ id, folder, record: data, busyReason: await findBusyReason(folder, data, now, signal) });
  }
  return found;
}

/** Removes the folders of processes that died before their operation had a record. */
export async function removeIncompleteOperations(store: SandboxStore, now: number): Promise<void> {
  for (const id of await listNames(beginningFolder(store))) {
    const folder = join(beginningFolder(store), id);
    if (await isOlderThan(folder, BEGINNING_MS, now)) await removeFolder(folder);
  }
}

async function isOlderThan(path: string, ms: number, now: number): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined); // removed by another process
  return stats !== undefined && now - stats.mtimeMs >= ms;
}

async function findBusyReason(
  folder: string,
  operation: OperationRecord | undefined,
  now: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const owner = parseIdentity(operation?.owner ?? "");
  if (owner === undefined)
    return (await isOlderThan(folder, BEGINNING_MS, now)) ? undefined : "its record cannot be read";
  const liveness = await checkLiveness(owner, signal);
  if (liveness === "dead") return undefined;
  return liveness === "alive"
    ? `process ${owner.pid} works on it`
    : "its process may still run on another machine";
}

/** Removes a folder if it exists. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Moves a folder; returns false if it does not exist. */
export async function moveFolder(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (await stat(from).catch(() => undefined)) throw error;
    return false;
  }
}
