import { openDispatch } from "../../../../app/dispatch.ts";
import { all, type Steps } from "../../../../board/database/steps.ts";
import { hasExited } from "../../../../board/dispatcher/live-dispatchers.ts";
import type { PassReport } from "../../../../board/dispatcher/pass-report.ts";
import { MANY_IDLE } from "../../../../board/dispatcher/reasons/idle-passes.ts";
import { findLeaseHolder, type LeaseHolder } from "../../../../board/dispatcher/transactions/board-lease.ts";
import type { DispatcherRow } from "../../../../board/dispatcher/transactions/dispatcher-rows.ts";
import { formatTime } from "../../../../lib/time/format-time.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { renderTable } from "../../../terminal/table.ts";
import type { JsonOption, OpenBoardContext } from "../kanban-context.ts";
import { OUTCOME_WORDS } from "./pass-summary.ts";

const RECENT_MS = 600_000;

/** Prints the dispatchers of a board with their last pass and last error. */
export async function showDispatchStatus(open: OpenBoardContext, { json }: JsonOption): Promise<void> {
  const { store, signal, context } = open;
  const { terminal } = context;
  using dispatch = await openDispatch(open, signal);
  const { board, policy } = dispatch;
  const { holder, dispatchers } = await board.read(loadDispatchers, signal);
  const ended = new Set<string>();
  for (const { owner } of dispatchers) if (await hasExited(owner, signal)) ended.add(owner);
  const [{ paused }, { byStatus }] = [await store.board(signal), await store.stats(signal)];
  if (json) {
    return terminal.printJson({
      board: store.slug,
      paused,
      ready: byStatus.ready,
      running: byStatus.running,
      lease: holder && { ...leaseOf(holder), expires_at: holder.expires_at },
      dispatchers: dispatchers.map(({ last_report, owner, ...row }) => {
        return { ...row, pid: pidOf(owner), ended: ended.has(owner), ...lastReportOf(last_report) };
      }),
      caps: { max_spawn: policy.maxSpawn ?? null, max_in_progress: policy.maxInProgress ?? null },
      interval_seconds: policy.intervalMs / 1_000,
    });
  }
  const state = paused ? "paused" : `${byStatus.running} running, ${byStatus.ready} ready`;
  terminal.print(`${store.slug}: ${state}`);
  if (dispatchers.length === 0)
    return terminal.print(
      "This board has not been dispatched yet. Start a dispatcher with `hermes kanban daemon`.",
    );
  const rows = dispatchers.map(({ owner, host_id, last_tick_at, last_error, last_report }) => [
    String(pidOf(owner) ?? "?"),
    lastReportOf(last_report).host ?? host_id.slice(0, 8),
    formatTime(last_tick_at),
    ended.has(owner) ? "ended" : holder?.owner === owner && holder.expires_at > holder.now ? "leads" : "runs",
    escapeControls(last_error ?? "").split("\n", 1)[0] ?? "",
  ]);
  terminal.print(renderTable(["PID", "HOST", "LAST PASS", "STATE", "LAST ERROR"], rows, terminal));
  for (const { owner, last_report, last_tick_at } of dispatchers) {
    const { idle, outcomes } = lastReportOf(last_report);
    const isOld = last_tick_at < (holder?.now ?? 0) - RECENT_MS;
    if (idle === null || idle.passes < MANY_IDLE || isOld || ended.has(owner)) continue;
    const held = Object.entries(outcomes ?? {}).filter(([, count]) => count > 0);
    const why = held
      .map(([outcome, count]) => `${count} ${OUTCOME_WORDS[outcome as keyof typeof OUTCOME_WORDS]}`)
      .join(", ");
    terminal.print(
      `${pidOf(owner)} has started no task since ${formatTime(idle.since)} (${idle.passes} passes): ${why}`,
    );
  }
}

function* loadDispatchers(): Steps<{
  readonly holder: LeaseHolder | undefined;
  readonly dispatchers: readonly DispatcherRow[];
}> {
  const holder = yield* findLeaseHolder();
  return {
    holder,
    dispatchers: yield* all<DispatcherRow>("select * from dispatcher order by last_tick_at desc"),
  };
}

type LastReport = Pick<PassReport, "idle"> & {
  readonly outcomes: Readonly<Record<string, number>> | null;
  readonly host?: string;
};

function lastReportOf(text: string | null): LastReport {
  if (text === null) return { outcomes: null, idle: null };
  const { idle = null, host, ...outcomes } = JSON.parse(text) as Pick<PassReport, "idle"> & { host?: string };
  return { outcomes, idle, ...(host !== undefined && { host }) };
}

function leaseOf({ owner, token, expires_at, now }: LeaseHolder) {
  return { pid: pidOf(owner), token, live: expires_at > now };
}

function pidOf(owner: string): number | null {
  const pid = /"pid":(\d+)/.exec(owner)?.[1];
  return pid === undefined ? null : Number(pid);
}
