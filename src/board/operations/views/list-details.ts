import { all, type Steps } from "../../database/steps.ts";
import type { Task } from "../../task.ts";
import { findBlocks } from "../tasks/find-blocks.ts";

/** The fields that identify a task to users. */
export type TaskName = Pick<Task, "id" | "seq" | "title" | "status" | "assignee">;

const NAMED = "t.id, t.seq, t.title, t.status, t.assignee";

/** Finds the names of tasks by id; omits deleted tasks. */
export function* findTaskNames(ids: readonly string[]): Steps<ReadonlyMap<string, TaskName>> {
  if (ids.length === 0) return new Map();
  const rows = yield* all<TaskName>(`select ${NAMED} from task t where t.id {among:ids}`, {
    ids: JSON.stringify([...new Set(ids)]),
  });
  return new Map(rows.map((row) => [row.id, row]));
}

export interface RecordedGuard {
  readonly reason: string;
  /** Null when the end is unknown. */
  readonly until: number | null;
  /** The number of the task that the guard waits for, or 0. */
  readonly waitsForTask: number;
}

/** The details that a task list shows in addition to the columns of the tasks. */
export interface ListDetails {
  /** The numbers of the open parents of each task. */
  readonly waitsFor: ReadonlyMap<string, readonly number[]>;
  /** The reason given when each task was blocked. */
  readonly blockReasons: ReadonlyMap<string, string>;
  /** The guard of each ready task, as last recorded by a dispatcher. */
  readonly guarded: ReadonlyMap<string, RecordedGuard>;
  /** The start time of each task's open run. */
  readonly runningSince: ReadonlyMap<string, number>;
  /** How many tasks of the board are running, by counter: in all, of each host and of each profile. */
  readonly running: ReadonlyMap<string, number>;
}

/** Loads the list details of all given tasks with a fixed number of statements. */
export function* loadListDetails(tasks: readonly Pick<Task, "id" | "status">[]): Steps<ListDetails> {
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
  const counters = yield* all<{ name: string; value: number }>(
    "select name, value from counter where value > 0 and name <> 'event'",
  );
  const notes = yield* all<{ id: string; notices: string; now: number }>(
    `select task_id as id, told as notices, hermes_now() as now from dispatch_note
      where task_id {among:ids} and told like '% until %'`,
    idsOf("ready"),
  );
  const waitsFor = new Map<string, number[]>();
  for (const { id, seq } of parents) waitsFor.set(id, [...(waitsFor.get(id) ?? []), seq]);
  return {
    waitsFor,
    blockReasons: new Map([...blocks].flatMap(([id, { reason }]) => (reason === null ? [] : [[id, reason]]))),
    guarded: new Map(
      notes.flatMap(({ id, notices, now }) => parseGuard(notices, now).map((guard) => [id, guard])),
    ),
    running: new Map(counters.map(({ name, value }) => [name, value])),
    runningSince: new Map(running.map(({ id, started_at }) => [id, started_at])),
  };
}

/** Parses lines such as `respawn_guarded backoff 12 until 1700000000000`; returns the last guard that has not expired. */
function parseGuard(notices: string, now: number): readonly RecordedGuard[] {
  return notices
    .split("\n")
    .flatMap((line): RecordedGuard[] => {
      const [, reason = "", task, until] = /^respawn_guarded (\w+) (\d+) until (\d+)$/.exec(line) ?? [];
      if (reason === "branch_busy") return [{ reason, until: null, waitsForTask: Number(task) }];
      return Number(until) > now ? [{ reason, until: Number(until), waitsForTask: 0 }] : [];
    })
    .slice(-1);
}

const SEARCH_LIMIT = 200;

/** The spellings of a word to search for, because both databases lower-case only ASCII letters. */
export function caseVariants(word: string): readonly string[] {
  const lower = word.toLowerCase();
  const [first = "", ...rest] = lower;
  const forms = [lower, word, word.toUpperCase(), first.toUpperCase() + rest.join("")];
  return [...new Set(forms.map((form) => form.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())))];
}

/** Finds tasks whose title, body, result or comments contain all words; most recently updated first. */
export function* searchTasks(
  words: readonly string[],
  { archived }: { readonly archived: boolean },
): Steps<readonly TaskName[]> {
  const values: Record<string, string> = {};
  const conditions = words.map((word, index) => {
    const names = caseVariants(word).map((variant, number) => {
      const name = `word${index}_${number}`;
      values[name] = `%${variant.replaceAll(/[!%_]/g, "!$&")}%`;
      return name;
    });
    const has = (column: string): string =>
      names.map((name) => `lower(${column}) like :${name} escape '!'`).join(" or ");
    return `(${["t.title", "coalesce(t.body, '')", "coalesce(t.result, '')"].map(has).join(" or ")}
        or exists (select 1 from comment c where c.task_id = t.id and (${has("c.body")})))`;
  });
  return yield* all<TaskName>(
    `select ${NAMED} from task t where ${archived ? "" : "t.archived_at is null and "}${conditions.join(" and ")}
      order by t.updated_at desc, t.seq limit ${SEARCH_LIMIT}`,
    values,
  );
}
