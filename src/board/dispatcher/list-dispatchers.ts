import { all, type Steps } from "../database/steps.ts";
import type { PassReport } from "./pass-report.ts";
import { findLeaseHolder } from "./transactions/board-lease.ts";
import type { DispatcherRow } from "./transactions/dispatcher-rows.ts";

/** A dispatcher that has made a pass over this board in the last days. */
export interface KnownDispatcher {
  /** Its process identity, in the format of `serialiseIdentity`. */
  readonly owner: string;
  readonly pid: number | null;
  readonly host: string;
  readonly lastPassAt: number;
  /** Whether it holds the lease of the board. */
  readonly isLeading: boolean;
  readonly lastError: string | null;
  /** Passes in a row that started nothing although tasks were ready, and since when. */
  readonly idle: { readonly passes: number; readonly since: number } | null;
}

/** The dispatchers of a board, the one with the newest pass first. */
export function* listDispatchers(): Steps<readonly KnownDispatcher[]> {
  const holder = yield* findLeaseHolder();
  const rows = yield* all<DispatcherRow>("select * from dispatcher order by last_tick_at desc");
  return rows.map(({ owner, host_id, last_tick_at, last_error, last_report }) => {
    const { host, idle } = JSON.parse(last_report ?? "{}") as Partial<Pick<PassReport, "idle">> & {
      readonly host?: string;
    };
    return {
      owner,
      pid: pidOf(owner),
      host: host ?? host_id.slice(0, 8),
      lastPassAt: last_tick_at,
      isLeading: holder?.owner === owner && holder.expires_at > holder.now,
      lastError: last_error,
      idle: idle ?? null,
    };
  });
}

function pidOf(owner: string): number | null {
  const pid = /"pid":(\d+)/.exec(owner)?.[1];
  return pid === undefined ? null : Number(pid);
}
