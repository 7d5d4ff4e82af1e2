import { all, type Steps } from "../database/steps.ts";
import type { Task } from "../task.ts";
import { findBlocks } from "./find-blocks.ts";

/** How people call a task: its number and its title. */
export type TaskName = Pick<Task, "id" | "seq" | "title" | "status" | "assignee">;

const NAMED = "t.id, t.seq, t.title, t.status, t.assignee";

/** The names of tasks, by their ids; those that were deleted are left out. */
export function* nameTasks(ids: readonly string[]): Steps<ReadonlyMap<string, TaskName>> {
  if (ids.length === 0) return new Map();
  const rows = yield* all<TaskName>(`select ${NAMED} from task t where t.id {among:ids}`, {
    ids: JSON.stringify([...new Set(ids)]),
  });
  return new Map(rows.map((row) => [row.id, row]));
}

export interface NotedGuard {
  readonly reason: string;
  /** Null when nobody can know. */
  readonly until: number | null;
  /** The number of the task that it waits for, or 0. */
  readonly about: number;
}

/** What a list says of tasks beside their own columns. */
export interface Glance {
  /** The numbers of the parents that a task still waits for. */
  readonly waitsFor: ReadonlyMap<string, readonly number[]>;
  /** What was asked or reported when a task was blocked. */
  readonly asked: ReadonlyMap<string, string>;
  /** What keeps a ready task from starting, and until when, as a dispatcher last noted it. */
  readonly guarded: ReadonlyMap<string, NotedGuard>;
  /** Since when the run of a task lasts. */
  readonly runningSince: ReadonlyMap<string, number>;
}

/** Looks up in a few statements, however many tasks are listed, what each of them waits for. */
export function* glanceAtTasks(tasks: readonly Pick<Task, "id" | "status">[]): Steps<Glance> {
  const idsOf = (...statuses: readonly string[]) => ({
    ids: JSON.stringify(tasks.filter(({ status }) => statuses.includes(status)).map(({ id }) => id)),
  });
  const parents = yield* all<{ id: string; seq: number }>(
    `select l.child_id as id, p.seq from link l join task p on p.id = l.parent_id
      where l.child_id {among:ids} and p.status not in ('done', 'archived') order by p.seq`,
    idsOf("todo", "blocked", "triage", "scheduled"),
  );
  const blocks = yield* findBlocks(
    tasks.filter(({ status }) => status === "blocked" || status === "triage").map(({ id }) => id),
  );
  const running = yield* all<{ id: string; started_at: number }>(
    "select task_id as id, started_at from run where task_id {among:ids} and ended_at is null",
    idsOf("running"),
  );
  const notes = yield* all<{ id: string; told: string; now: number }>(
    `select task_id as id, told, hermes_now() as now from dispatch_note
      where task_id {among:ids} and told like '% until %'`,
    idsOf("ready"),
  );
  const waitsFor = new Map<string, number[]>();
  for (const { id, seq } of parents) waitsFor.set(id, [...(waitsFor.get(id) ?? []), seq]);
  return {
    waitsFor,
    asked: new Map([...blocks].flatMap(([id, { reason }]) => (reason === null ? [] : [[id, reason]]))),
    guarded: new Map(notes.flatMap(({ id, told, now }) => guardIn(told, now).map((guard) => [id, guard]))),
    runningSince: new Map(running.map(({ id, started_at }) => [id, started_at])),
  };
}

/** The last line such as `respawn_guarded backoff 12 until 1700000000000` whose time has not come; none or one. */
function guardIn(told: string, now: number): readonly NotedGuard[] {
  return told
    .split("\n")
    .flatMap((line): NotedGuard[] => {
      const [, reason = "", about, until] = /^respawn_guarded (\w+) (\d+) until (\d+)$/.exec(line) ?? [];
      if (reason === "branch_busy") return [{ reason, until: null, about: Number(about) }];
      return Number(until) > now ? [{ reason, until: Number(until), about: 0 }] : [];
    })
    .slice(-1);
}

const FOUND = 200;

/** Tasks whose title, body, result or comments have all of these words, the latest first. */
export function* searchTasks(
  words: readonly string[],
  { archived }: { readonly archived: boolean },
): Steps<readonly TaskName[]> {
  const has = (column: string, index: number): string => `lower(${column}) like :word${index} escape '!'`;
  const conditions = words.map(
    (_, index) =>
      `(${["t.title", "coalesce(t.body, '')", "coalesce(t.result, '')"].map((column) => has(column, index)).join(" or ")}
        or exists (select 1 from comment c where c.task_id = t.id and ${has("c.body", index)}))`,
  );
  const values = Object.fromEntries(
    words.map((word, index) => [`word${index}`, `%${word.toLowerCase().replaceAll(/[!%_]/g, "!$&")}%`]),
  );
  return yield* all<TaskName>(
    `select ${NAMED} from task t where ${archived ? "" : "t.archived_at is null and "}${conditions.join(" and ")}
      order by t.updated_at desc, t.seq limit ${FOUND}`,
    values,
  );
}
