import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files.ts";
import { type Engine, engineAddress } from "./engine.ts";
import { namesIn } from "./names-in.ts";
import { parseJson } from "./parse-json.ts";

/** Whose sandboxes, and where their files and records lie. */
export interface SandboxPlace {
  readonly sandboxesFolder: string;
  readonly profileId: string;
}

const record = z.object({
  version: z.literal(1),
  profile_id: z.string(),
  task: z.string(),
  /** Which engine has it, as far as our side knows. */
  engine: z.string(),
});

/** One container that is the sandbox of a task. */
export interface SandboxRecord {
  readonly id: string;
  readonly task: string;
  readonly engine: string;
}

/** One file for each container: written whole, removed whole, and never changed. */
function recordPath({ sandboxesFolder }: Pick<SandboxPlace, "sandboxesFolder">, id: string): string {
  return join(sandboxesFolder, "records", `${id}.json`);
}

/** Writes down that the container is the sandbox of a task. */
export async function noteSandbox(
  engine: Engine,
  place: SandboxPlace,
  { id, task }: { readonly id: string; readonly task: string },
): Promise<void> {
  const path = recordPath(place, id);
  if ((await readTextFile(path)) !== undefined) return;
  await ensurePrivateFolder(join(place.sandboxesFolder, "records"));
  const known = { version: 1, profile_id: place.profileId, task, engine: engineAddress(engine) } as const;
  await writeFileAtomic(path, `${JSON.stringify(known satisfies z.infer<typeof record>)}\n`, { mode: 0o600 });
}

/** Forgets a container that is gone. */
export async function forgetSandbox(place: Pick<SandboxPlace, "sandboxesFolder">, id: string): Promise<void> {
  await rm(recordPath(place, id), { force: true });
}

/** The containers that are sandboxes of the profile's tasks, at whichever engine. */
export async function loadRecords(place: SandboxPlace): Promise<SandboxRecord[]> {
  const found: SandboxRecord[] = [];
  for (const name of await namesIn(join(place.sandboxesFolder, "records"))) {
    const id = basename(name, ".json");
    if (!/^[0-9a-f]{64}$/.test(id)) continue;
    const { data } = record.safeParse(parseJson((await readTextFile(recordPath(place, id))) ?? ""));
    if (data?.profile_id === place.profileId) found.push({ id, task: data.task, engine: data.engine });
  }
  return found;
}
