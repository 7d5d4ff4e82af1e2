import { hostname } from "node:os";
import { messageOf } from "../../lib/errors.ts";
import { bookkeep, releaseLeavingRuns } from "./bookkeep.ts";
import { DISPATCHER } from "./dispatch-board.ts";
import type { PassParts } from "./pass-parts.ts";
import { countOutcomes, createPassReport, type PassReport, requestPassAt } from "./pass-report.ts";
import { INITIAL_TASKS_PER_PROFILE, TaskStarter } from "./task-starter.ts";
import { findLeaseHolder, LEASE_MS, releaseLease, takeLease } from "./transactions/board-lease.ts";
import { recordPass } from "./transactions/dispatcher-rows.ts";
import { listEligible } from "./transactions/list-eligible.ts";

/** Runs one pass: bookkeeping if this dispatcher holds the board's lease, then claims and starts tasks for this host. */
export async function runPass(parts: PassParts, signal: AbortSignal): Promise<PassReport> {
  signal.throwIfAborted();
  const { board, host, owner } = parts;
  const report = createPassReport(board.slug, parts.dryRun === true);
  if (report.dry_run) {
    await dispatchEligible(parts, report, signal);
    return report;
  }
  let token: number | undefined;
  try {
    token = await acquireLease(parts, report, signal);
    if (token === undefined) report.skipped_locked = true;
    else await bookkeep(parts, token, report, signal);
    await releaseLeavingRuns(parts, report, signal);
    await dispatchEligible(parts, report, signal);
  } catch (error) {
    signal.throwIfAborted();
    // This write may fail too, because the board itself may be the cause; only the first error is reported.
    await board
      .write(DISPATCHER, () => recordPass(owner, host.id, { error: messageOf(error) }), signal)
      .catch(() => undefined);
    throw error;
  }
  parts.idlePasses?.count(report, parts.policy.intervalMs);
  report.idle = parts.idlePasses?.current ?? null;
  const summary = JSON.stringify({ ...countOutcomes(report), idle: report.idle, host: hostname() });
  await board.write(
    DISPATCHER,
    function* () {
      yield* recordPass(owner, host.id, { report: summary });
      if (parts.isLast === true && token !== undefined) yield* releaseLease(token);
    },
    signal,
  );
  return report;
}

/** The token of the board's lease; undefined, without a write, when a dispatcher that may be alive holds it. */
async function acquireLease(
  { board, owner, isDead }: PassParts,
  report: PassReport,
  signal: AbortSignal,
): Promise<number | undefined> {
  const holder = await board.read(findLeaseHolder, signal);
  // Each bookkeeping write renews the lease, so a pass without bookkeeping work need not write.
  if (holder?.owner === owner && holder.expires_at - holder.now > LEASE_MS / 2) return holder.token;
  const isTaken = holder !== undefined && holder.owner !== owner && holder.expires_at > holder.now;
  if (isTaken && !(await isDead(holder.owner, signal))) {
    requestPassAt(report, holder.expires_at); // an idle or dead holder has not renewed the lease by then
    return undefined;
  }
  return board.write(DISPATCHER, () => takeLease(owner, isTaken ? holder.token : 0), signal);
}

async function dispatchEligible(parts: PassParts, report: PassReport, signal: AbortSignal): Promise<void> {
  const { board, policy } = parts;
  const perProfile = parts.perProfile ?? (report.dry_run ? undefined : INITIAL_TASKS_PER_PROFILE);
  const options = {
    rateLimitMs: policy.rateLimitCooldownMs,
    ...(perProfile !== undefined && { perProfile }),
    ...(report.dry_run && { promoteWith: policy.failureLimit }),
  };
  const eligible = await board.read(() => listEligible(options), signal);
  if (report.dry_run) report.promoted = eligible.promoted.length;
  report.paused = eligible.paused;
  report.looked_at = eligible.now;
  if (eligible.nextDueAt !== null) requestPassAt(report, eligible.nextDueAt);
  if (!eligible.paused) await new TaskStarter(parts, eligible, report, signal).run();
}
