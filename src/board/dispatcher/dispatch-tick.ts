import { hostname } from "node:os";
import { messageOf } from "../../lib/errors.ts";
import { bookkeep, seeEnds } from "./bookkeep.ts";
import { DISPATCHER } from "./dispatch-board.ts";
import { findHolder, LEASE_MS, recordTick, takeLease } from "./operations/board-lease.ts";
import { listEligible } from "./operations/list-eligible.ts";
import { LOOKED_AT, placeTasks } from "./place-tasks.ts";
import type { TickParts } from "./tick-parts.ts";
import { countOutcomes, createReport, expectPass, type TickReport } from "./tick-report.ts";

/** One pass: bookkeeping if this dispatcher holds the board's lease, then tasks are claimed and started for this host. */
export async function dispatchTick(parts: TickParts, signal: AbortSignal): Promise<TickReport> {
  signal.throwIfAborted();
  const { board, host, owner } = parts;
  const report = createReport(board.slug, parts.dryRun === true);
  if (report.dry_run) {
    await place(parts, report, signal);
    return report;
  }
  try {
    const token = await lead(parts, report, signal);
    if (token === undefined) report.skipped_locked = true;
    else await bookkeep(parts, token, report, signal);
    await seeEnds(parts, report, signal);
    await place(parts, report, signal);
  } catch (error) {
    signal.throwIfAborted();
    // The board itself may be what failed; the first failure is the one worth hearing.
    await board
      .write(DISPATCHER, () => recordTick(owner, host.id, { error: messageOf(error) }), signal)
      .catch(() => undefined);
    throw error;
  }
  parts.idle?.count(report, parts.policy.intervalMs);
  report.idle = parts.idle?.current ?? null;
  const summary = JSON.stringify({ ...countOutcomes(report), idle: report.idle, host: hostname() });
  await board.write(DISPATCHER, () => recordTick(owner, host.id, { report: summary }), signal);
  return report;
}

/** The token of the lease, or undefined when another one who may be alive has it; then nothing was written. */
async function lead(
  { board, owner, isDead }: TickParts,
  report: TickReport,
  signal: AbortSignal,
): Promise<number | undefined> {
  const holder = await board.read(findHolder, signal);
  // Each write of the bookkeeping renews it; a pass that has none to do then writes nothing for it.
  if (holder?.owner === owner && holder.expires_at - holder.now > LEASE_MS / 2) return holder.token;
  const isTaken = holder !== undefined && holder.owner !== owner && holder.expires_at > holder.now;
  if (isTaken && !(await isDead(holder.owner, signal))) {
    expectPass(report, holder.expires_at); // by then it has died, or has nothing to do and lets us
    return undefined;
  }
  return board.write(DISPATCHER, () => takeLease(owner, isTaken ? holder.token : 0), signal);
}

async function place(parts: TickParts, report: TickReport, signal: AbortSignal): Promise<void> {
  const { board, policy } = parts;
  const perProfile = parts.perProfile ?? (report.dry_run ? undefined : LOOKED_AT);
  const eligible = await board.read(
    () =>
      listEligible({
        rateLimitMs: policy.rateLimitCooldownMs,
        ...(perProfile !== undefined && { perProfile }),
        ...(report.dry_run && { promoteWith: policy.failureLimit }),
      }),
    signal,
  );
  if (report.dry_run) report.promoted = eligible.promoted.length;
  report.paused = eligible.paused;
  report.looked_at = eligible.now;
  if (eligible.nextDueAt !== null) expectPass(report, eligible.nextDueAt);
  if (!eligible.paused) await placeTasks(parts, eligible, report, signal);
}
