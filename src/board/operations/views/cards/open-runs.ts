import { all, type Steps } from "../../../database/steps.ts";
import { findHostName } from "../../../dispatcher/transactions/dispatcher-rows.ts";
import type { OpenRun } from "./card.ts";

/** An open run with the name of its task. */
export interface RunningTask {
  readonly taskId: string;
  readonly seq: number;
  readonly title: string;
  readonly run: OpenRun;
}

interface Row {
  readonly task_id: string;
  readonly seq: number;
  readonly title: string;
  readonly id: number;
  readonly started_at: number;
  readonly profile: string | null;
  readonly host_id: string | null;
  readonly session_id: string | null;
  readonly tokens: number;
  readonly cost_micros: number;
}

/** The open runs of the board, or of the given tasks, oldest first. */
export function* listOpenRuns(ids?: readonly string[]): Steps<readonly RunningTask[]> {
  // Selects by status, which has an index: a run is open exactly while its task is running.
  const rows = yield* all<Row>(
    `select r.task_id, t.seq, t.title, r.id, r.started_at, r.profile, r.host_id, r.session_id,
            r.input_tokens + r.output_tokens as tokens, r.cost_micros
       from task t join run r on r.id = t.current_run_id
      where t.status = 'running' ${ids === undefined ? "" : "and t.id {among:ids}"} order by r.started_at, r.id`,
    ids === undefined ? {} : { ids: JSON.stringify(ids) },
  );
  const hosts = new Map<string, string>();
  for (const { host_id: id } of rows)
    if (id !== null && !hosts.has(id)) hosts.set(id, yield* findHostName(id));
  return rows.map(({ task_id, seq, title, host_id, ...row }) => ({
    taskId: task_id,
    seq,
    title,
    run: {
      id: row.id,
      startedAt: row.started_at,
      profile: row.profile,
      hostId: host_id,
      host: host_id === null ? null : (hosts.get(host_id) ?? null),
      sessionId: row.session_id,
      tokens: row.tokens,
      costUsd: row.cost_micros / 1_000_000,
    },
  }));
}
