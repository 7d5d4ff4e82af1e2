import { stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ensurePrivateFolder } from "../../../lib/files/files.ts";
import { unlessMissing } from "../../../lib/files/unless-missing.ts";
import type { Reporter } from "../../environment-request.ts";
import type { TerminalOptions } from "../../options.ts";
import type { Engine } from "../engine/engine.ts";

export interface ReclaimContext {
  readonly engine: Engine;
  readonly options: TerminalOptions;
  readonly profileId: string;
  readonly sandboxesFolder: string;
  readonly reporter: Reporter;
  readonly now: number;
}

/** Limits the cost for scripts that start the program a hundred times a minute. */
const INTERVAL_MS = 10 * 60 * 1_000;
const STAMP_FILE = ".last-reclaim";

/** Cleans up after earlier processes: retries their failed removals and reclaims sandboxes that they abandoned. */
export async function reclaimAtStart(context: ReclaimContext, signal: AbortSignal): Promise<void> {
  const { engine, options, profileId, sandboxesFolder, reporter, now } = context;
  if (!options.docker_orphan_reaper) return;
  const due = await isDue(sandboxesFolder, now);
  // Outside persist mode a killed process leaves a running sandbox that no other process can use: always check.
  if (!due && options.docker_persist_across_processes) return;
  // Imported lazily, because most processes have nothing to reclaim.
  const [{ retryPendingRemovals }, { reclaimSandboxes }, { reclaimSnapshots }, { keepRules }] =
    await Promise.all([
      import("./pending-removals.ts"),
      import("./reclaim.ts"),
      import("../snapshots/reclaim-snapshots.ts"),
      import("./keep-rules.ts"),
    ]);
  await retryPendingRemovals(sandboxesFolder, engine, { profileId, now }, reporter, signal);
  const { rows, problem } = await reclaimSandboxes(
    engine,
    {
      profileId,
      stores: [{ sandboxesFolder, profileId }],
      ...keepRules(options),
      idleTtlSeconds: options.docker_idle_ttl_seconds,
      maxAgeSeconds: options.docker_max_age_seconds,
      dryRun: false,
      now,
    },
    signal,
  );
  for (const { name, action, reason } of rows)
    if (action === "removed" || action === "stopped")
      reporter.onNotice(`The sandbox ${name} was ${action}: ${reason}.`);
  if (problem !== undefined) reporter.onNotice(`Cannot check for abandoned sandboxes: ${problem}`);
  if (!due) return;
  const rules = { ttlSeconds: options.docker_snapshot_ttl_seconds, dryRun: false, now };
  const snapshots = await reclaimSnapshots(engine, { sandboxesFolder, profileId }, rules, signal);
  for (const { state, name, action, reason } of snapshots.rows)
    if (action === "removed") reporter.onNotice(`The ${state} ${name} was removed: ${reason}.`);
  if (snapshots.problem !== undefined)
    reporter.onNotice(`Cannot check for old snapshots: ${snapshots.problem}`);
}

/** Whether the last check was long enough ago. Of several processes that call this at once, most get false. */
async function isDue(folder: string, now: number): Promise<boolean> {
  await ensurePrivateFolder(folder);
  const path = join(folder, STAMP_FILE);
  const seconds = now / 1_000;
  const last = await unlessMissing(stat(path));
  const agoMs = now - (last?.mtimeMs ?? -Infinity);
  // A stamp in the future was written with a wrong clock and must not disable the reaper until that time.
  if (agoMs >= 0 && agoMs < INTERVAL_MS) return false;
  if (last === undefined) await writeFile(path, "", { mode: 0o600 });
  await utimes(path, seconds, seconds);
  return true;
}
