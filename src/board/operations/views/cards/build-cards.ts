import { shorten } from "../../../../lib/text/shorten.ts";
import { authorOf } from "../../../caller.ts";
import { all, only, type Steps } from "../../../database/steps.ts";
import { DISPATCHER } from "../../../dispatcher/dispatch-board.ts";
import { type Block, causeOf, findBlocks } from "../../tasks/find-blocks.ts";
import { loadListDetails, type RecordedGuard } from "../list-details.ts";
import type { BoardCard, CardNotice, CardReason, CardRow, OpenRun } from "./card.ts";
import { listOpenRuns } from "./open-runs.ts";

const NOTICE_LENGTH = 400;

/** The settings that affect the reason on a card. */
export interface CardSettings {
  /** Whether unassigned tasks get a default assignee. */
  readonly hasDefaultAssignee: boolean;
}

interface Facts {
  readonly now: number;
  readonly paused: boolean;
  readonly parents: ReadonlyMap<string, Parents>;
  readonly blocks: ReadonlyMap<string, Block>;
  readonly guards: ReadonlyMap<string, RecordedGuard>;
  readonly runs: ReadonlyMap<string, OpenRun>;
  /** When each claim by a person, which has no worker, expires. */
  readonly claims: ReadonlyMap<string, number>;
  readonly comments: ReadonlyMap<string, number>;
  readonly files: ReadonlyMap<string, number>;
  readonly costs: ReadonlyMap<string, number>;
}

interface Parents {
  readonly total: number;
  readonly done: number;
  readonly first: { readonly id: string; readonly seq: number } | null;
}

/** Builds the cards of all given tasks with a fixed number of statements. */
export function* buildCards(rows: readonly CardRow[], settings: CardSettings): Steps<readonly BoardCard[]> {
  if (rows.length === 0) return [];
  const facts = yield* loadFacts(rows);
  return rows.map((row) => ({
    id: row.id,
    seq: row.seq,
    title: row.title,
    status: row.status,
    assignee: row.assignee,
    reviewer: row.reviewer,
    priority: row.priority,
    tenant: row.tenant,
    hold: row.hold === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    since: sinceOf(row, facts),
    reason: reasonOf(row, facts, settings),
    notice: noticeOf(row, facts),
    failures: row.consecutive_failures,
    parts: partsOf(facts.parents.get(row.id)),
    comments: facts.comments.get(row.id) ?? 0,
    files: facts.files.get(row.id) ?? 0,
    costUsd: (facts.costs.get(row.id) ?? 0) / 1_000_000,
    run: facts.runs.get(row.id) ?? null,
  }));
}

function* loadFacts(rows: readonly CardRow[]): Steps<Facts> {
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const idsOf = (...statuses: readonly string[]): string[] =>
    rows.filter(({ status }) => statuses.includes(status)).map(({ id }) => id);
  const count = function* (table: string): Steps<ReadonlyMap<string, number>> {
    const counted = yield* all<{ id: string; count: number }>(
      `select task_id as id, count(*) as count from ${table} where task_id {among:ids} group by task_id`,
      { ids },
    );
    return new Map(counted.map((row) => [row.id, row.count]));
  };
  const costs = yield* all<{ id: string; cost: number }>(
    `select task_id as id, cast(sum(cost_micros) as bigint) as cost from run where task_id {among:ids} group by task_id`,
    { ids },
  );
  const running = idsOf("running");
  const runs = running.length === 0 ? [] : yield* listOpenRuns(running);
  const board = yield* only<{ paused: number; now: number }>("select paused, hermes_now() as now from board");
  const { guarded } = yield* loadListDetails(rows.filter(({ status }) => status === "ready"));
  return {
    now: board.now,
    paused: board.paused === 1,
    parents: yield* loadParents(ids),
    blocks: yield* findBlocks(idsOf("blocked", "triage")),
    guards: guarded,
    runs: new Map(runs.map(({ taskId, run }) => [taskId, run])),
    claims: running.length === 0 ? new Map() : yield* loadClaims(running),
    comments: yield* count("comment"),
    files: yield* count("attachment"),
    costs: new Map(costs.map(({ id, cost }) => [id, cost])),
  };
}

function* loadParents(ids: string): Steps<ReadonlyMap<string, Parents>> {
  const rows = yield* all<{ child: string; id: string; seq: number; open: number }>(
    `select l.child_id as child, p.id, p.seq,
            case when p.status in ('done', 'archived') then 0 else 1 end as open
       from link l join task p on p.id = l.parent_id where l.child_id {among:ids} order by p.seq`,
    { ids },
  );
  const parents = new Map<string, Parents>();
  for (const { child, id, seq, open } of rows) {
    const { total, done, first } = parents.get(child) ?? { total: 0, done: 0, first: null };
    parents.set(child, {
      total: total + 1,
      done: done + 1 - open,
      first: first ?? (open === 1 ? { id, seq } : null),
    });
  }
  return parents;
}

function* loadClaims(ids: readonly string[]): Steps<ReadonlyMap<string, number>> {
  const rows = yield* all<{ id: string; until: number }>(
    `select r.task_id as id, r.lease_until as until from run r
       join event e on e.task_id = r.task_id and e.run_id = r.id and e.kind = 'claimed'
      where r.task_id {among:ids} and r.ended_at is null and e.actor <> :dispatcher`,
    { ids: JSON.stringify(ids), dispatcher: authorOf(DISPATCHER) },
  );
  return new Map(rows.map(({ id, until }) => [id, until]));
}

function partsOf(parents: Parents | undefined): BoardCard["parts"] {
  return parents === undefined ? null : { done: parents.done, total: parents.total };
}

function sinceOf(row: CardRow, { runs, blocks }: Facts): number {
  switch (row.status) {
    case "ready":
      return row.ready_at ?? row.updated_at;
    case "running":
      return runs.get(row.id)?.startedAt ?? row.updated_at;
    case "blocked":
      return blocks.get(row.id)?.at ?? row.updated_at;
    case "done":
      return row.completed_at ?? row.updated_at;
    case "archived":
      return row.archived_at ?? row.updated_at;
    case "review":
      return row.updated_at;
    default:
      return row.created_at;
  }
}

const NO_REASON = { task: null, count: null, until: null, guard: null } as const;

/** The reason that a card shows; checked in the same order as for `why`. */
function reasonOf(row: CardRow, facts: Facts, { hasDefaultAssignee }: CardSettings): CardReason | null {
  const { status } = row;
  if (status === "done" || status === "archived") return null;
  if (status === "running") {
    const until = facts.claims.get(row.id);
    return until === undefined ? null : { ...NO_REASON, kind: "claimed", until };
  }
  if (row.hold === 1) return { ...NO_REASON, kind: "held" };
  const parents = facts.parents.get(row.id);
  if (parents !== undefined && parents.first !== null) {
    const { first, total, done } = parents;
    return { ...NO_REASON, kind: "waits", task: first, count: total - done };
  }
  if (status === "scheduled") return { ...NO_REASON, kind: "scheduled", until: row.scheduled_at };
  if (status === "blocked") {
    // Only a task that was blocked neither by a person nor by a worker is retried automatically.
    const until = row.block_sticky === 0 ? row.not_before : null;
    return until === null ? null : { ...NO_REASON, kind: "guarded", until, guard: "backoff" };
  }
  if (status !== "ready" && status !== "todo") return null;
  if (facts.paused) return { ...NO_REASON, kind: "paused" };
  if (row.assignee === null && !hasDefaultAssignee) return { ...NO_REASON, kind: "unassigned" };
  const guard = facts.guards.get(row.id);
  if (guard !== undefined) return { ...NO_REASON, kind: "guarded", until: guard.until, guard: guard.reason };
  if (row.not_before !== null && row.not_before > facts.now)
    return { ...NO_REASON, kind: "guarded", until: row.not_before, guard: "backoff" };
  return { ...NO_REASON, kind: "next" };
}

function noticeOf(row: CardRow, { blocks }: Facts): CardNotice | null {
  if (row.status !== "blocked" && row.triage_reason !== "block_loop") return null;
  const block = blocks.get(row.id);
  const text = shorten(block?.reason ?? row.last_failure_error ?? "", NOTICE_LENGTH);
  if (text === "") return null;
  const cause = causeOf(block);
  if (cause !== "blocked")
    return { kind: "failure", text: shorten(row.last_failure_error ?? text, NOTICE_LENGTH), cause };
  return { kind: isQuestion(block) ? "question" : "block", text, cause };
}

/** Whether a worker has blocked its task; only then does the event have `recurrences`. */
function isQuestion(block: Block | undefined): boolean {
  const recurrences = block?.payload["recurrences"];
  return typeof recurrences === "number" && recurrences > 0;
}
