import { rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../../lib/files.ts";
import { livenessOf, ownIdentity, parseIdentity, serialiseIdentity } from "../../../lib/process-identity.ts";
import { namesIn } from "../names-in.ts";
import { parseJson } from "../parse-json.ts";
import type { SandboxPlace } from "../sandbox-record.ts";
import { snapshotsFolder } from "./snapshot-store.ts";

const RECORD = "operation.json";
/** How long a process may take to begin; what is left then is that of one which died. */
const BEGINNING_MS = 15 * 60 * 1_000;

const record = z.object({
  version: z.literal(1),
  kind: z.enum(["snapshot", "fork", "restore", "replace"]),
  owner: z.string(),
  task: z.string(),
  /** The folder of the task's sandbox, as it is called below `docker/`. */
  key: z.string(),
  /** Where the container and the folder that are being replaced are moved. */
  aside: z.object({ container: z.string().optional(), folder: z.string().optional() }).optional(),
  /** The id of the container that is being replaced. */
  old: z.string().optional(),
  /** The new container, once all is in it and only its name is missing. */
  planted: z.string().optional(),
  /** What is moved aside is a snapshot, too, and need not be kept. */
  kept: z.boolean().optional(),
});
export type OperationRecord = z.infer<typeof record>;
type Progress = Pick<OperationRecord, "aside" | "old" | "planted" | "kept">;

/**
 * A change of several steps on its way: its folder says who makes it and how far it has come, so that whoever comes next
 * can tell a dead one from a slow one, and finish it or take it back.
 */
export interface Operation {
  readonly id: string;
  readonly folder: string;
  /** Writes down what will be done, before it is; what was written before stays. */
  note(progress: Progress): Promise<void>;
  /** Removes its traces: it is done, or undone. */
  end(): Promise<void>;
}

function workFolder(place: SandboxPlace): string {
  return join(snapshotsFolder(place), "work");
}

/** Where operations are written down before they count: those that count have a record. */
function beginningFolder(place: SandboxPlace): string {
  return join(snapshotsFolder(place), "beginning");
}

export async function beginOperation(
  place: SandboxPlace,
  id: string,
  about: Pick<OperationRecord, "kind" | "task" | "key">,
  signal: AbortSignal,
): Promise<Operation> {
  const owner = serialiseIdentity(await ownIdentity(signal));
  const folder = join(workFolder(place), id);
  const beginning = join(beginningFolder(place), id);
  await Promise.all([workFolder(place), beginning].map((path) => ensurePrivateFolder(path)));
  let known: OperationRecord = { version: 1, owner, ...about };
  const write = (into: string) => writeFileAtomic(join(into, RECORD), JSON.stringify(known), { mode: 0o600 });
  await write(beginning);
  await rename(beginning, folder);
  const note = async (progress: Progress) => {
    known = { ...known, ...progress };
    await write(folder);
  };
  return {
    id,
    folder,
    note,
    end: () => removeFolder(folder),
  };
}

/** Whether there may be any; asked before each command, so it must cost nothing. */
export async function hasOperations(place: SandboxPlace): Promise<boolean> {
  return (await namesIn(workFolder(place))).length > 0;
}

/** An operation whose process is gone, or may be. */
export interface LeftOperation {
  readonly id: string;
  readonly folder: string;
  readonly record: OperationRecord | undefined;
  /** Why it may not be touched; undefined when its process is dead for certain. */
  readonly busy: string | undefined;
}

export async function listOperations(
  place: SandboxPlace,
  now: number,
  signal: AbortSignal,
): Promise<LeftOperation[]> {
  const found: LeftOperation[] = [];
  for (const id of await namesIn(workFolder(place))) {
    const folder = join(workFolder(place), id);
    const text = await readTextFile(join(folder, RECORD));
    const { data } = record.safeParse(parseJson(text ?? ""));
    found.push({ id, folder, record: data, busy: await whyBusy(folder, data, now, signal) });
  }
  return found;
}

/** Removes what processes left that died before their operation counted. */
export async function removeUnbegun(place: SandboxPlace, now: number): Promise<void> {
  for (const id of await namesIn(beginningFolder(place))) {
    const folder = join(beginningFolder(place), id);
    if (await isOlder(folder, BEGINNING_MS, now)) await removeFolder(folder);
  }
}

async function isOlder(path: string, ms: number, now: number): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined); // gone meanwhile
  return stats !== undefined && now - stats.mtimeMs >= ms;
}

async function whyBusy(
  folder: string,
  known: OperationRecord | undefined,
  now: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const owner = parseIdentity(known?.owner ?? "");
  if (owner === undefined)
    return (await isOlder(folder, BEGINNING_MS, now)) ? undefined : "its record cannot be read";
  const liveness = await livenessOf(owner, signal);
  if (liveness === "dead") return undefined;
  return liveness === "alive" ? `process ${owner.pid} works on it` : "its process is not of this machine";
}

/** Removes a folder, if it is there. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Moves a folder, and says whether it was there. */
export async function moveFolder(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (await stat(from).catch(() => undefined)) throw error;
    return false;
  }
}

export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
