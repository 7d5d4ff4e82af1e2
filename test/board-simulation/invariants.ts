import { OUTCOMES, type PassReport } from "../../src/board/dispatcher/pass-report.ts";
import type { DispatchPolicy } from "../../src/board/dispatcher/rules/resolve-dispatch-policy.ts";
import { profileCap } from "../../src/board/dispatcher/rules/resolve-dispatch-policy.ts";
import type { EligibleTasks } from "../../src/board/dispatcher/transactions/list-eligible.ts";
import { idsOf } from "./ids-of.ts";
import type { MemoryDatabase } from "./memory-database.ts";
import type { SimulatedHost } from "./simulated-host.ts";

interface OpenRun {
  readonly id: number;
  readonly task_id: string;
  readonly profile: string | null;
  readonly host_id: string | null;
  readonly current_run_id: number | null;
  readonly status: string;
}

/** Checks the rows after a transaction; returns the first broken invariant as a sentence. */
export function findBreach(
  memory: MemoryDatabase,
  policy: DispatchPolicy,
  tasks: number,
): string | undefined {
  const counted = memory.all<OpenRun & { readonly ended_at: number | null }>(
    `select r.id, r.task_id, r.profile, r.host_id, r.ended_at, t.current_run_id, t.status
       from run r join task t on t.id = r.task_id
      where r.ended_at is null or (r.ended_at is not null and r.lease_until > 0)`,
  );
  const open = counted.filter(({ ended_at }) => ended_at === null);
  return (
    findOpenRunBreach(open) ??
    findCapBreach(counted, policy) ??
    findCounterBreach(memory, counted) ??
    findLossBreach(memory, open, tasks)
  );
}

/**
 * Finds two live workers of one task, or more live workers than the caps allow. Workers of ended runs count too, because
 * they can still write.
 */
export function findWorkerBreach(
  hosts: readonly SimulatedHost[],
  { maxSpawn = Infinity, maxInProgress = Infinity }: Partial<DispatchPolicy> = {},
): string | undefined {
  const workers = new Map<string, number>();
  for (const { id, runs } of hosts) {
    let here = 0;
    for (const { worker, taskId, runId } of runs.values()) {
      if (!worker) continue;
      const other = workers.get(taskId);
      if (other !== undefined) return `two workers at one task: runs ${other} and ${runId}`;
      workers.set(taskId, runId);
      here++;
    }
    if (here > maxInProgress) return `${here} workers alive on ${id}, above max_in_progress`;
  }
  return workers.size > maxSpawn ? `${workers.size} workers alive, above max_spawn` : undefined;
}

function findOpenRunBreach(open: readonly OpenRun[]): string | undefined {
  const wrong = open.find((run) => run.current_run_id !== run.id || run.status !== "running");
  if (wrong !== undefined) return `run ${wrong.id} is open, but its task names ${wrong.current_run_id}`;
  return new Set(open.map((run) => run.task_id)).size === open.length
    ? undefined
    : "two open runs of one task";
}

function countBy(open: readonly OpenRun[], key: (run: OpenRun) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const run of open) counts.set(key(run), (counts.get(key(run)) ?? 0) + 1);
  return counts;
}

function findCapBreach(open: readonly OpenRun[], policy: DispatchPolicy): string | undefined {
  if (open.length > (policy.maxSpawn ?? Infinity)) return `${open.length} run, above max_spawn`;
  for (const [host, count] of countBy(open, (run) => run.host_id ?? ""))
    if (count > (policy.maxInProgress ?? Infinity)) return `${count} run on ${host}, above max_in_progress`;
  for (const [profile, count] of countBy(open, (run) => run.profile ?? ""))
    if (count > profileCap(policy, profile)) return `${count} run as ${profile}, above its cap`;
  return undefined;
}

function findCounterBreach(memory: MemoryDatabase, open: readonly OpenRun[]): string | undefined {
  const expected = new Map<string, number>([["running", open.length]]);
  for (const [host, count] of countBy(open, (run) => run.host_id ?? ""))
    expected.set(`running/host/${host}`, count);
  for (const [profile, count] of countBy(open, (run) => run.profile ?? ""))
    expected.set(`running/profile/${profile}`, count);
  expected.set(
    "event",
    memory.all<{ last: number }>("select coalesce(max(id), 0) as last from event")[0]?.last ?? 0,
  );
  const counters = memory.all<{ name: string; value: number }>("select name, value from counter");
  const wrong = counters.find(({ name, value }) => value !== (expected.get(name) ?? 0));
  if (wrong !== undefined) return `the counter ${wrong.name} says ${wrong.value}`;
  const missing = [...expected.keys()].find((name) => !counters.some((counter) => counter.name === name));
  return missing === undefined ? undefined : `there is no counter ${missing}`;
}

function findLossBreach(memory: MemoryDatabase, open: readonly OpenRun[], tasks: number): string | undefined {
  const [found] = memory.all<{ tasks: number; running: number }>(
    "select count(*) as tasks, sum(status = 'running') as running from task",
  );
  if (found?.tasks !== tasks) return `${found?.tasks} of ${tasks} tasks are left`;
  return (found.running ?? 0) === open.length ? undefined : "a task is running without an open run";
}

/** Each eligible task must have one outcome. If no other actor claimed a task, none may be deferred while there is room. */
export function findReportBreach(
  report: PassReport,
  eligible: EligibleTasks,
  hostId: string,
  policy: DispatchPolicy,
  wasAlone: boolean,
): string | undefined {
  if (report.paused) return undefined;
  const reported = OUTCOMES.flatMap((outcome) => idsOf(report, outcome)).sort();
  const expected = eligible.tasks.map(({ id }) => id).sort();
  if (reported.join() !== expected.join()) return "a pass did not give each eligible task one outcome";
  if (report.deferred_capacity.length === 0 || !wasAlone) return undefined;
  const running = (name: string): number => eligible.running.get(name) ?? 0;
  const room = Math.min(
    (policy.maxSpawn ?? Infinity) - running("running"),
    (policy.maxInProgress ?? Infinity) - running(`running/host/${hostId}`),
  );
  const placed = report.spawned.length + report.spawn_failed.length;
  return placed < room ? `a pass left ${room - placed} slots empty and deferred tasks` : undefined;
}

/** Tasks that are neither done nor have a reason that a user could read. */
export function findUnsettled(
  memory: MemoryDatabase,
  { defaultAssignee }: DispatchPolicy,
  profiles: readonly string[],
): readonly string[] {
  const rows = memory.all<{
    id: string;
    status: string;
    assignee: string | null;
    open: number;
    explained: number;
  }>(
    `select t.id, t.status, t.assignee, t.block_sticky = 1 or t.last_failure_error is not null as explained, exists (
        select 1 from link l join task p on p.id = l.parent_id
         where l.child_id = t.id and p.status not in ('done', 'archived')) as open from task t`,
  );
  return rows.flatMap(({ id, status, assignee, open, explained }) => {
    const isSpawnable = assignee === null ? defaultAssignee !== undefined : profiles.includes(assignee);
    const hasReason =
      status === "done" ||
      status === "triage" ||
      (status === "blocked" && explained === 1) ||
      (status === "todo" && open === 1) ||
      (status === "ready" && !isSpawnable);
    return hasReason ? [] : [`${id} is ${status}`];
  });
}
