import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { type DispatchBoard, wrapDatabase } from "../dispatcher/dispatch-board.ts";
import { listEligible } from "../dispatcher/operations/list-eligible.ts";
import { resolveDispatchPolicy } from "../dispatcher/resolve-dispatch-policy.ts";
import { createReport } from "../dispatcher/tick-report.ts";
import { claimTasks } from "../operations/claim.ts";
import { createTask } from "../operations/create-task.ts";
import { findBreach, findReportBreach, findTwoAtWork, findUnsettled } from "./invariants.ts";
import { gatedDatabase, openMemoryDatabase } from "./memory-database.ts";
import { OPERATOR } from "./operate.ts";
import { SimulatedHost } from "./simulated-host.ts";

const never = new AbortController().signal;
const policyOf = (settings: object) =>
  resolveDispatchPolicy(settings, { platform: "linux", totalMemoryBytes: 2 ** 36 });
const LOOSE = policyOf({ max_in_progress: 8 });

describe("the rules that histories are held to", async () => {
  const memory = await openMemoryDatabase();
  afterAll(() => memory[Symbol.dispose]());
  let board: DispatchBoard;

  /** Four tasks, of which two run on one host: one as alpha, one as beta. */
  beforeEach(async () => {
    memory.reset(() => 1_000_000);
    board = wrapDatabase(
      "simulated",
      gatedDatabase(memory, async (_, work) => work()),
    );
    for (const assignee of ["alpha", "beta", "alpha", "beta"])
      await board.write(OPERATOR, (change) => createTask(change, { title: "a", assignee }), never);
    const request = { wanted: 2, from: "ready", leaseMs: 30_000, hostId: "h1" } as const;
    await board.write(OPERATOR, (change) => claimTasks(change, request), never);
  });

  it("a sound board breaks none", () => {
    expect(findBreach(memory, LOOSE, 4)).toBeUndefined();
  });

  it.each([
    ["more runs than the board allows", { max_spawn: 1 }, /above max_spawn/],
    ["more runs than the host allows", { max_in_progress: 1 }, /h1, above max_in_progress/],
  ])("%s are a breach", (_, settings, found) => {
    expect(findBreach(memory, policyOf({ max_in_progress: 8, ...settings }), 4)).toMatch(found);
  });

  it("more runs than a profile is allowed are a breach", async () => {
    const request = { wanted: 2, from: "ready", leaseMs: 30_000, hostId: "h2" } as const;
    await board.write(OPERATOR, (change) => claimTasks(change, request), never);
    const settings = { max_in_progress: 8, max_in_progress_per_profile: { alpha: 1 } };
    expect(findBreach(memory, policyOf(settings), 4)).toBe("2 run as alpha, above its cap");
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
      for (const statement of sql.split(";")) yield { sql: statement, values: {}, wants: "changes" };
    });
    expect(findBreach(memory, LOOSE, 4)).toMatch(found);
  });

  it("a second open run of a task cannot even be written", () => {
    const copy = `insert into run (id, task_id, source_status, lease_token, lease_ms, lease_until, started_at)
                  select 99, task_id, source_status, 'other', 1, 1, 1 from run where id = 1`;
    const write = () =>
      memory.transact(function* () {
        yield { sql: copy, values: {}, wants: "changes" };
      });
    expect(write).toThrow(/UNIQUE/);
  });

  it("two live workers of one task on two hosts are a breach, though each has a run", () => {
    const hosts = ["h1", "h2"].map((id) => new SimulatedHost(id, NO_WORLD));
    const run = { taskId: "t", taskNumber: 1, supervisor: true, worker: true, frozen: false, deadline: 0 };
    hosts.forEach(({ runs }, index) => void runs.set(index, { ...run, runId: index, actor: `s${index}` }));
    expect(findTwoAtWork(hosts)).toBe("two workers at one task: runs 0 and 1");
    const [first] = hosts[0]?.runs.values() ?? [];
    if (first !== undefined) first.worker = false;
    expect(findTwoAtWork(hosts)).toBeUndefined();
  });

  it("G16: each eligible task has one outcome, and none is deferred while there is room", async () => {
    const steps = () => listEligible({ rateLimitMs: 0 });
    const eligible = await board.read(steps, never);
    const [one = "", other = ""] = eligible.tasks.map(({ id }) => id);
    const check = (lists: Partial<ReturnType<typeof createReport>>) =>
      findReportBreach({ ...createReport("simulated", false), ...lists }, eligible, "h1", LOOSE, true);
    expect(check({ deferred_capacity: [one] })).toMatch(/one outcome/);
    expect(check({ deferred_capacity: [one, other], concurrent_claimed: [one] })).toMatch(/one outcome/);
    expect(check({ deferred_capacity: [one, other] })).toMatch(/6 slots empty/);
    expect(check({ concurrent_claimed: [one, other] })).toBeUndefined();
  });

  it("a task that waits for nothing is unsettled, one that nobody here can do is not", () => {
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
