import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import {
  ensurePrivateFolder,
  readTextFile,
  removeOldFiles,
  writeFileAtomic,
} from "../../../lib/files/files.ts";
import { listNames } from "../../../lib/files/unless-missing.ts";
import { type Engine, engineAddress } from "../engine/engine.ts";
import { parseJson } from "../engine/parse-json.ts";

/** A profile, and the folder that holds the files and records of its sandboxes. */
export interface SandboxStore {
  readonly sandboxesFolder: string;
  readonly profileId: string;
}

const record = z.object({
  version: z.literal(1),
  profile_id: z.string(),
  task: z.string(),
  /** Address of the engine that runs the container, as this client addresses it. */
  engine: z.string(),
});

/** Records that a container is the sandbox of a task. */
export interface SandboxRecord {
  readonly id: string;
  readonly task: string;
  readonly engine: string;
}

/** Temporary file of a process that was killed while it wrote a record. */
const LEFTOVER_FILE = /^\..*\.tmp$/;
const LEFTOVER_AFTER_MS = 60_000;

/** One file per container: written atomically and never changed. */
function recordPath({ sandboxesFolder }: Pick<SandboxStore, "sandboxesFolder">, id: string): string {
  return join(sandboxesFolder, "records", `${id}.json`);
}

/** Records that the container is the sandbox of a task. */
export async function recordSandbox(
  engine: Engine,
  store: SandboxStore,
  { id, task }: { readonly id: string; readonly task: string },
): Promise<void> {
  const path = recordPath(store, id);
  if ((await readTextFile(path)) !== undefined) return;
  const folder = join(store.sandboxesFolder, "records");
  await ensurePrivateFolder(folder);
  await removeOldFiles(folder, LEFTOVER_FILE, Date.now() - LEFTOVER_AFTER_MS);
  const content = { version: 1, profile_id: store.profileId, task, engine: engineAddress(engine) } as const;
  await writeFileAtomic(path, `${JSON.stringify(content satisfies z.infer<typeof record>)}\n`, {
    mode: 0o600,
  });
}

/** Deletes the record of a container that was removed. */
export async function deleteSandboxRecord(
  store: Pick<SandboxStore, "sandboxesFolder">,
  id: string,
): Promise<void> {
  await rm(recordPath(store, id), { force: true });
}

/** Loads the records of the profile's sandboxes, on any engine. */
export async function loadRecords(store: SandboxStore): Promise<SandboxRecord[]> {
  const found: SandboxRecord[] = [];
  for (const name of await listNames(join(store.sandboxesFolder, "records"))) {
    const id = basename(name, ".json");
    if (!/^[0-9a-f]{64}$/.test(id)) continue;
    const { data } = record.safeParse(parseJson((await readTextFile(recordPath(store, id))) ?? ""), {
      jitless: true, // compiling takes longer than parsing a few records
    });
    if (data?.profile_id === store.profileId) found.push({ id, task: data.task, engine: data.engine });
  }
  return found;
}
