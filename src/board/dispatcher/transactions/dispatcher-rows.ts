import { shorten } from "../../../lib/text/shorten.ts";
import { first, run, type Steps } from "../../database/steps.ts";

export interface DispatcherRow {
  readonly owner: string;
  readonly host_id: string;
  readonly last_tick_at: number;
  readonly last_error: string | null;
  readonly last_error_at: number | null;
  readonly last_report: string | null;
}

/** Records a pass of a dispatcher with its report or error. */
export function* recordPass(
  owner: string,
  hostId: string,
  outcome: { readonly report: string } | { readonly error: string },
): Steps<void> {
  const failed = "error" in outcome;
  yield* run(
    `insert into dispatcher (owner, host_id, last_tick_at, last_error, last_error_at, last_report)
     values (:owner, :hostId, hermes_now(), cast(:error as text),
             case when cast(:error as text) is null then null else hermes_now() end, cast(:report as text))
     on conflict (owner) do update set last_tick_at = excluded.last_tick_at,
       last_error = coalesce(excluded.last_error, dispatcher.last_error),
       last_error_at = coalesce(excluded.last_error_at, dispatcher.last_error_at),
       last_report = coalesce(excluded.last_report, dispatcher.last_report)`,
    {
      owner,
      hostId,
      error: failed ? shorten(outcome.error, 500) : null,
      report: failed ? null : outcome.report,
    },
  );
  yield* run(`delete from dispatcher where last_tick_at < hermes_now() - ${KEPT_MS}`);
}

/** The name of a host as its dispatchers reported it, or a prefix of its id if none has reported one. */
export function* findHostName(hostId: string): Steps<string> {
  const row = yield* first<{ last_report: string }>(
    `select last_report from dispatcher where host_id = :hostId and last_report is not null
      order by last_tick_at desc limit 1`,
    { hostId },
  );
  const { host } = JSON.parse(row?.last_report ?? "{}") as { host?: string };
  return host ?? hostId.slice(0, 8);
}

const KEPT_MS = 7 * 86_400_000;
