import { join } from "node:path";
import { z } from "zod";
import { withFileLock } from "../../lib/file-lock.ts";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files.ts";
import type { Reporter } from "../environment-request.ts";
import { findContainer } from "./container.ts";
import { type Engine, engineAddress, noticeOnce } from "./engine.ts";
import { isOurs, LABEL } from "./labels.ts";
import { parseJson } from "./parse-json.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import { forgetSandbox } from "./sandbox-record.ts";

const FILE = "pending-removals.json";
const KEEP_MS = 30 * 24 * 60 * 60 * 1_000; // after that long the reaper has done it, or the engine is no more

const pending = z.object({
  id: z.string().regex(/^[0-9a-f]{64}$/),
  profile_id: z.string(),
  /** Which engine has it, as far as our side knows. */
  engine: z.string(),
  recorded_at: z.number(),
});
const record = z.object({ version: z.literal(1), removals: z.array(pending) });
type Pending = z.infer<typeof pending>;

/** Notes a container that could not be removed, for the next process to try again. */
export async function recordPendingRemoval(
  folder: string,
  engine: Engine,
  { id, profileId, now }: { readonly id: string; readonly profileId: string; readonly now: number },
  signal: AbortSignal,
): Promise<void> {
  const entry = { id, profile_id: profileId, engine: engineAddress(engine), recorded_at: now };
  await edit(folder, (removals) => [...removals.filter((other) => other.id !== id), entry], signal);
}

/** Tries again to remove what earlier processes of the profile could not; what is gone is forgotten. */
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
    // The file is only a list of names; the container itself says whether it may be removed.
    const mayRemove =
      found !== undefined && isOurs(found.labels) && found.labels[LABEL.profileId] === profileId;
    const removal = mayRemove ? await removeSandbox(engine, id, signal) : undefined;
    if (removal?.outcome !== "failed") {
      await forgetSandbox({ sandboxesFolder: folder }, id);
      done.push(id);
    } else
      noticeOnce(
        engine,
        `The sandbox ${id.slice(0, 12)} still cannot be removed: ${removal.reason}`,
        reporter,
      );
  }
  const isOver = (one: Pending) => done.includes(one.id) || one.recorded_at < now - KEEP_MS;
  if (removals.some(isOver)) await edit(folder, (all) => all.filter((one) => !isOver(one)), signal);
  return done;
}

async function load(folder: string): Promise<readonly Pending[]> {
  const text = await readTextFile(join(folder, FILE));
  // A file that was damaged by hand only costs a second try: the reaper finds the containers by their labels.
  return record.safeParse(parseJson(text ?? "")).data?.removals ?? [];
}

async function edit(
  folder: string,
  change: (removals: readonly Pending[]) => readonly Pending[],
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
