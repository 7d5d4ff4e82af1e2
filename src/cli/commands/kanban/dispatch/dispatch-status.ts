import { all, type Steps } from "../../../../board/database/steps.ts";
import { MANY_IDLE } from "../../../../board/dispatcher/idle-passes.ts";
import { hasEnded } from "../../../../board/dispatcher/living-dispatchers.ts";
import {
  type DispatcherRow,
  findHolder,
  type LeaseHolder,
} from "../../../../board/dispatcher/operations/board-lease.ts";
import type { TickReport } from "../../../../board/dispatcher/tick-report.ts";
import { formatTime as moment } from "../../../../lib/format-time.ts";
import { escapeControls } from "../../../escape-controls.ts";
import { renderTable } from "../../../table.ts";
import { atBoard, type Desk, type JsonOption } from "../desk.ts";
import { openDispatch } from "./open-dispatch.ts";
import { WORDS } from "./pass-summary.ts";

const RECENT_MS = 600_000;

/** Who dispatches a board, when it last did, and what went wrong last. */
export async function showDispatchStatus(desk: Desk, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const { store, signal, context } = open;
    const { terminal } = context;
    await using dispatch = await openDispatch(open);
    const { board, policy } = dispatch;
    const { holder, dispatchers } = await board.read(loadDispatchers, signal);
    const ended = new Set<string>();
    for (const { owner } of dispatchers) if (await hasEnded(owner, signal)) ended.add(owner);
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
      return terminal.print("Nobody has dispatched this board yet: `hermes kanban daemon`.");
    const rows = dispatchers.map(({ owner, host_id, last_tick_at, last_error, last_report }) => [
      String(pidOf(owner) ?? "?"),
      lastReportOf(last_report).host ?? host_id.slice(0, 8),
      moment(last_tick_at),
      ended.has(owner) ? "ended" : holder?.owner === owner && holder.expires_at > holder.now ? "yes" : "",
      escapeControls(last_error ?? "").split("\n", 1)[0] ?? "",
    ]);
    terminal.print(renderTable(["PID", "HOST", "LAST PASS", "LEADS", "LAST ERROR"], rows, terminal));
    for (const { owner, last_report, last_tick_at } of dispatchers) {
      const { idle, outcomes } = lastReportOf(last_report);
      const isGone = last_tick_at < (holder?.now ?? 0) - RECENT_MS;
      if (idle === null || idle.passes < MANY_IDLE || isGone || ended.has(owner)) continue;
      const held = Object.entries(outcomes ?? {}).filter(([, count]) => count > 0);
      const why = held
        .map(([outcome, count]) => `${count} ${WORDS[outcome as keyof typeof WORDS]}`)
        .join(", ");
      terminal.print(
        `${pidOf(owner)} has started nothing since ${moment(idle.since)} (${idle.passes} passes): ${why}`,
      );
    }
  });
}

function* loadDispatchers(): Steps<{
  readonly holder: LeaseHolder | undefined;
  readonly dispatchers: readonly DispatcherRow[];
}> {
  const holder = yield* findHolder();
  return {
    holder,
    dispatchers: yield* all<DispatcherRow>("select * from dispatcher order by last_tick_at desc"),
  };
}

type LastReport = Pick<TickReport, "idle"> & {
  readonly outcomes: Readonly<Record<string, number>> | null;
  readonly host?: string;
};

function lastReportOf(text: string | null): LastReport {
  if (text === null) return { outcomes: null, idle: null };
  const { idle = null, host, ...outcomes } = JSON.parse(text) as Pick<TickReport, "idle"> & { host?: string };
  return { outcomes, idle, ...(host !== undefined && { host }) };
}

function leaseOf({ owner, token, expires_at, now }: LeaseHolder) {
  return { pid: pidOf(owner), token, live: expires_at > now };
}

function pidOf(owner: string): number | null {
  const pid = /"pid":(\d+)/.exec(owner)?.[1];
  return pid === undefined ? null : Number(pid);
}
