import { stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files.ts";
import type { Reporter } from "../environment-request.ts";
import type { TerminalOptions } from "../options.ts";
import type { Engine } from "./engine.ts";

export interface StartUp {
  readonly engine: Engine;
  readonly options: TerminalOptions;
  readonly profileId: string;
  readonly sandboxesFolder: string;
  readonly reporter: Reporter;
  readonly now: number;
}

/** A script may start us a hundred times a minute; looking after abandoned sandboxes needs no such haste. */
const EVERY_MS = 10 * 60 * 1_000;
const STAMP = ".last-reclaim";

/** What a process owes its predecessors: removes what they could not, and reclaims what they abandoned. */
export async function reclaimAtStart(startUp: StartUp, signal: AbortSignal): Promise<void> {
  const { engine, options, profileId, sandboxesFolder, reporter, now } = startUp;
  if (!options.docker_orphan_reaper) return;
  const due = await isDue(sandboxesFolder, now);
  // Where each process has a sandbox of its own, one that was killed left one running that nobody will ever use.
  if (!due && options.docker_persist_across_processes) return;
  // Loaded here, because most processes have nothing to reclaim.
  const [{ retryPendingRemovals }, { reclaimSandboxes }, { reclaimSnapshots }, { keepRules }] =
    await Promise.all([
      import("./pending-removals.ts"),
      import("./reclaim.ts"),
      import("./snapshots/reclaim-snapshots.ts"),
      import("./stopped-sandbox.ts"),
    ]);
  await retryPendingRemovals(sandboxesFolder, engine, { profileId, now }, reporter, signal);
  const { rows, problem } = await reclaimSandboxes(
    engine,
    {
      profileId,
      places: [{ sandboxesFolder, profileId }],
      ...keepRules(options),
      idleTtlSeconds: options.docker_idle_ttl_seconds,
      maxAgeSeconds: options.docker_max_age_seconds,
      dryRun: false,
      now,
    },
    signal,
  );
  for (const row of rows) {
    if (row.action === "removed" || row.action === "stopped")
      reporter.onNotice(`The sandbox ${row.name} was ${row.action}: ${row.reason}.`);
  }
  if (problem !== undefined) reporter.onNotice(`Abandoned sandboxes could not be looked for: ${problem}`);
  if (!due) return;
  const rules = { ttlSeconds: options.docker_snapshot_ttl_seconds, dryRun: false, now };
  const left = await reclaimSnapshots(engine, { sandboxesFolder, profileId }, rules, signal);
  for (const row of left.rows) {
    if (row.action === "removed")
      reporter.onNotice(`The ${row.state} ${row.name} was removed: ${row.reason}.`);
  }
  if (left.problem !== undefined) reporter.onNotice(`Old snapshots could not be looked for: ${left.problem}`);
}

/** Whether the last look is long enough ago; of several processes that ask at once, most are told no. */
async function isDue(folder: string, now: number): Promise<boolean> {
  await ensurePrivateFolder(folder);
  const path = join(folder, STAMP);
  const seconds = now / 1_000;
  try {
    const agoMs = now - (await stat(path)).mtimeMs;
    // A stamp of the future comes from a clock that was wrong, and must not switch the reaper off until then.
    if (agoMs >= 0 && agoMs < EVERY_MS) return false;
    await utimes(path, seconds, seconds);
    return true;
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    await writeFile(path, "", { mode: 0o600 });
    await utimes(path, seconds, seconds);
    return true;
  }
}
