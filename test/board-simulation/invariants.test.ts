import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { BoardTransaction } from "../../src/board/board-transaction.ts";
import { createDispatchBoard, type DispatchBoard } from "../../src/board/dispatcher/dispatch-board.ts";
import { createPassReport } from "../../src/board/dispatcher/pass-report.ts";
import { listEligible } from "../../src/board/dispatcher/transactions/list-eligible.ts";
import { claimTasks } from "../../src/board/operations/runs/claim.ts";
import { createTask } from "../../src/board/operations/tasks/create-task.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { dispatchPolicy } from "../support/dispatch-policy.ts";
import { findBreach, findReportBreach, findUnsettled, findWorkerBreach } from "./invariants.ts";
import { gatedDatabase, openMemoryDatabase } from "./memory-database.ts";
import { OPERATOR } from "./operator-actions.ts";
import { SimulatedHost } from "./simulated-host.ts";

const LOOSE = dispatchPolicy({ max_in_progress: 8 });

describe("the invariants of histories", async () => {
  const memory = await openMemoryDatabase();
  afterAll(() => memory[Symbol.dispose]());
  let board: DispatchBoard;
  const ids: string[] = [];

  /** Four tasks, of which two run on one host: one as alpha, one as beta. */
  beforeEach(async () => {
    memory.reset(() => 1_000_000);
    board = createDispatchBoard(
      "simulated",
      gatedDatabase(memory, async (_, work) => work()),
    );
    ids.length = 0;
    for (const assignee of ["alpha", "beta", "alpha", "beta"]) {
      const create = (transaction: BoardTransaction) => createTask(transaction, { title: "a", assignee });
      ids.push((await board.write(OPERATOR, create, neverAborted)).task.id);
    }
    const request = { taskIds: ids.slice(0, 2), from: "ready", leaseMs: 30_000, hostId: "h1" } as const;
    await board.write(OPERATOR, (transaction) => claimTasks(transaction, request), neverAborted);
  });

  it("a consistent board has no breach", () => {
    expect(findBreach(memory, LOOSE, 4)).toBeUndefined();
  });

  it.each([
    ["more runs than the board allows", { max_spawn: 1 }, /above max_spawn/],
    ["more runs than the host allows", { max_in_progress: 1 }, /h1, above max_in_progress/],
  ])("%s are a breach", (_, settings, found) => {
    expect(findBreach(memory, dispatchPolicy({ max_in_progress: 8, ...settings }), 4)).toMatch(found);
  });

  it("more runs than the cap of a profile are a breach", async () => {
    const request = { taskIds: ids.slice(2), from: "ready", leaseMs: 30_000, hostId: "h2" } as const;
    await board.write(OPERATOR, (transaction) => claimTasks(transaction, request), neverAborted);
    const settings = { max_in_progress: 8, max_in_progress_per_profile: { alpha: 1 } };
    expect(findBreach(memory, dispatchPolicy(settings), 4)).toBe("2 run as alpha, above its cap");
  });

  it.each([
    ["a lost task", "delete from task where status = 'ready' and seq = 3", /3 of 4 tasks/],
    [
      "a task that runs without a run",
      `update run set ended_at = 1, outcome = 'crashed', lease_until = 0 where id = 1;
       update counter set value = value - 1 where name in ('running', 'running/host/h1', 'running/profile/alpha')`,
      /running without an open run/,
    ],
    [
      "a run that its task does not name",
      "update task set status = 'ready', current_run_id = null where current_run_id = 1",
      /is open, but its task names null/,
    ],
    [
      "a task that names another run",
      "update task set current_run_id = 77 where current_run_id = 1",
      /names 77/,
    ],
    [
      "a counter of the board",
      "update counter set value = 3 where name = 'running'",
      /counter running says 3/,
    ],
    [
      "a counter of a host",
      "update counter set value = 1 where name like '%host%'",
      /counter running\/host\/h1/,
    ],
    [
      "a missing counter",
      "delete from counter where name like '%profile/alpha'",
      /no counter running\/profile\/alpha/,
    ],
    [
      "an event without its number",
      "update counter set value = 99 where name = 'event'",
      /counter event says 99/,
    ],
  ])("%s is a breach", (_, sql, found) => {
    memory.transact(function* () {
      for (const statement of sql.split(";")) yield { sql: statement, values: {}, returns: "changes" };
    });
    expect(findBreach(memory, LOOSE, 4)).toMatch(found);
  });

  it("the database refuses a second open run of a task", () => {
    const copy = `insert into run (id, task_id, source_status, lease_token, lease_ms, lease_until, started_at)
                  select 99, task_id, source_status, 'other', 1, 1, 1 from run where id = 1`;
    const write = () =>
      memory.transact(function* () {
        yield { sql: copy, values: {}, returns: "changes" };
      });
    expect(write).toThrow(/UNIQUE/);
  });

  it("two live workers of one task on two hosts are a breach, although each has a run", () => {
    const hosts = ["h1", "h2"].map((id) => new SimulatedHost(id, NO_WORLD));
    const run = { taskId: "t", taskNumber: 1, supervisor: true, worker: true, suspended: false, deadline: 0 };
    hosts.forEach(({ runs }, index) => void runs.set(index, { ...run, runId: index, actor: `s${index}` }));
    expect(findWorkerBreach(hosts)).toBe("two workers at one task: runs 0 and 1");
    const [first] = hosts[0]?.runs.values() ?? [];
    if (first !== undefined) first.worker = false;
    expect(findWorkerBreach(hosts)).toBeUndefined();
  });

  it("G16: each eligible task has one outcome, and none is deferred while there is room", async () => {
    const steps = () => listEligible({ rateLimitMs: 0 });
    const eligible = await board.read(steps, neverAborted);
    const [one = "", other = ""] = eligible.tasks.map(({ id }) => id);
    const check = (lists: Partial<ReturnType<typeof createPassReport>>) =>
      findReportBreach({ ...createPassReport("simulated", false), ...lists }, eligible, "h1", LOOSE, true);
    expect(check({ deferred_capacity: [one] })).toMatch(/one outcome/);
    expect(check({ deferred_capacity: [one, other], concurrent_claimed: [one] })).toMatch(/one outcome/);
    expect(check({ deferred_capacity: [one, other] })).toMatch(/6 slots empty/);
    expect(check({ concurrent_claimed: [one, other] })).toBeUndefined();
  });

  it("a ready task is unsettled unless its profile does not exist here", () => {
    expect(findUnsettled(memory, LOOSE, ["alpha"])).toHaveLength(3);
    expect(findUnsettled(memory, LOOSE, [])).toHaveLength(2);
  });
});

const NO_WORLD = {
  seed: 1,
  scheduler: undefined as never,
  policy: LOOSE,
  profiles: [],
  boardFor: () => undefined as never,
  isOneHost: false,
  keepsEarlier: false,
  healed: false,
};
