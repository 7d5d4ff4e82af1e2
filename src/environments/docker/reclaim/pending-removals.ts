import { join } from "node:path";
import { z } from "zod";
import { withFileLock } from "../../../lib/files/file-lock.ts";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../../lib/files/files.ts";
import type { Reporter } from "../../environment-request.ts";
import { type Engine, engineAddress, noticeOnce } from "../engine/engine.ts";
import { parseJson } from "../engine/parse-json.ts";
import { findContainer } from "../lifecycle/container.ts";
import { removeSandbox } from "../lifecycle/remove-sandbox.ts";
import { deleteSandboxRecord } from "../lifecycle/sandbox-record.ts";
import { isOurs, LABEL } from "../spec/labels.ts";

const FILE = "pending-removals.json";
const KEEP_MS = 30 * 24 * 60 * 60 * 1_000; // by then the reaper has removed the container, or the engine no longer exists

const pending = z.object({
  id: z.string().regex(/^[0-9a-f]{64}$/),
  profile_id: z.string(),
  /** Address of the engine that runs the container, as this client addresses it. */
  engine: z.string(),
  recorded_at: z.number(),
});
const record = z.object({ version: z.literal(1), removals: z.array(pending) });
type PendingRemoval = z.infer<typeof pending>;

/** Records a container that could not be removed, so that the next process tries again. */
export async function recordPendingRemoval(
  folder: string,
  engine: Engine,
  { id, profileId, now }: { readonly id: string; readonly profileId: string; readonly now: number },
  signal: AbortSignal,
): Promise<void> {
  const entry = { id, profile_id: profileId, engine: engineAddress(engine), recorded_at: now };
  await edit(folder, (removals) => [...removals.filter((other) => other.id !== id), entry], signal);
}

/** Retries the failed removals of earlier processes of the profile; returns the ids of the containers now removed. */
export async function retryPendingRemovals(
  folder: string,
  engine: Engine,
  { profileId, now }: { readonly profileId: string; readonly now: number },
  reporter: Reporter,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const removals = await load(folder);
  const ours = removals.filter((one) => one.profile_id === profileId && one.engine === engineAddress(engine));
  const done: string[] = [];
  for (const { id } of ours) {
    const found = await findContainer(engine, id, signal);
    // The file is not proof of ownership; only the container's labels are.
    const mayRemove =
      found !== undefined && isOurs(found.labels) && found.labels[LABEL.profileId] === profileId;
    const removal = mayRemove ? await removeSandbox(engine, id, signal) : undefined;
    if (removal?.outcome !== "failed") {
      await deleteSandboxRecord({ sandboxesFolder: folder }, id);
      done.push(id);
    } else
      noticeOnce(
        engine,
        `The sandbox ${id.slice(0, 12)} still cannot be removed: ${removal.reason}`,
        reporter,
      );
  }
  const isDone = (one: PendingRemoval) => done.includes(one.id) || one.recorded_at < now - KEEP_MS;
  if (removals.some(isDone)) await edit(folder, (all) => all.filter((one) => !isDone(one)), signal);
  return done;
}

async function load(folder: string): Promise<readonly PendingRemoval[]> {
  const text = await readTextFile(join(folder, FILE));
  // An invalid file counts as empty, because the reaper also finds the containers by their labels.
  return record.safeParse(parseJson(text ?? "")).data?.removals ?? [];
}

async function edit(
  folder: string,
  change: (removals: readonly PendingRemoval[]) => readonly PendingRemoval[],
  signal: AbortSignal,
): Promise<void> {
  await ensurePrivateFolder(folder);
  const path = join(folder, FILE);
  await withFileLock(
    `${path}.lock`,
    async () => {
      const removals = change(await load(folder));
      await writeFileAtomic(path, `${JSON.stringify({ version: 1, removals }, undefined, 2)}\n`, {
        mode: 0o600,
      });
    },
    signal,
  );
}
