import type {
  DispatchHost,
  MemoryPressure,
  ModelChoice,
  RunLiveness,
  StartResult,
  Termination,
} from "../../../src/board/dispatcher/dispatch-host.ts";
import type { PassParts } from "../../../src/board/dispatcher/pass-parts.ts";
import type { PassReport } from "../../../src/board/dispatcher/pass-report.ts";
import { runPass } from "../../../src/board/dispatcher/run-pass.ts";
import type { ClaimedTask } from "../../../src/board/operations/runs/claim.ts";
import type { Run } from "../../../src/board/task.ts";
import type { BranchTask, BranchUser } from "../../../src/board/workspaces/git/find-branch-user.ts";
import { neverAborted } from "../../../src/lib/time/never-aborted.ts";
import { type BoardLab, openStage, runCaller } from "../../support/board-lab.ts";
import { type DispatchSettings, dispatchPolicy } from "../../support/dispatch-policy.ts";

/** A host with simulated processes. */
export class ScriptedHost implements DispatchHost {
  readonly id: string;
  readonly profiles = new Set(["worker", "alpha", "beta"]);
  readonly started: ClaimedTask[] = [];
  readonly terminated: number[] = [];
  readonly liveness = new Map<number, RunLiveness>();
  termination: Termination = "gone";
  pressure: MemoryPressure = "none";
  elsewhere = 0;
  /** The checkouts that occupy branches, by the id of the task that waits for the branch. */
  readonly branchUsers = new Map<string, BranchUser>();
  onStart: (claimed: ClaimedTask) => Promise<StartResult>;

  constructor(id: string, onStart: (claimed: ClaimedTask) => Promise<StartResult>) {
    this.id = id;
    this.onStart = onStart;
  }

  async runnable(profile: string) {
    if (this.profiles.has(profile)) return { ok: true } as const;
    return { ok: false, reason: `There is no profile ${profile} here.` } as const;
  }

  async routeOf(profile: string, { model_override: model }: ModelChoice) {
    return model === null ? profile : `${profile} ${model}`;
  }

  async findBranchUser({ id }: BranchTask) {
    return this.branchUsers.get(id);
  }

  async start(claimed: ClaimedTask): Promise<StartResult> {
    const result = await this.onStart(claimed);
    if (result.kind === "started") this.started.push(claimed);
    return result;
  }

  async isAlive({ id }: Run): Promise<RunLiveness> {
    return this.liveness.get(id) ?? "alive";
  }

  async terminate({ id }: Run): Promise<Termination> {
    this.terminated.push(id);
    if (this.termination === "gone") this.liveness.set(id, "dead");
    return this.termination;
  }

  async memoryPressure() {
    return this.pressure;
  }

  async runningElsewhere() {
    return this.elsewhere;
  }

  /** The slots that were reserved and neither given to a supervisor nor released. */
  slotsInHand = 0;

  async reserveSlot() {
    this.slotsInHand++;
    const letGo = async () => void this.slotsInHand--;
    return { giveTo: letGo, release: letGo };
  }
}

/** A board with a dispatcher on a scripted host. */
export async function openDispatchStage(openLab: () => Promise<BoardLab>, settings: DispatchSettings = {}) {
  const stage = await openStage(openLab);
  const { lab, store } = stage;
  const clock = { now: () => lab.now(), sleep: (_: number, signal: AbortSignal) => until(signal) };
  const board = store.forDispatcher;
  const describe = async ({ task, run, token }: ClaimedTask): Promise<StartResult> => {
    const pid = 1_000 + run.id;
    const route = await host.routeOf(run.profile ?? "", task);
    const facts = { supervisorPid: pid, workerPid: pid + 1, workerIdentity: `process of ${run.id}`, route };
    await store.as(runCaller(task, run, token)).describeRun(facts, neverAborted);
    return { kind: "started", workspace: `/work/${task.id}`, supervisorPid: pid };
  };
  const createHost = (id: string): ScriptedHost => new ScriptedHost(id, describe);
  const host = createHost("host-1");
  const policyOf = (changed: DispatchSettings) =>
    dispatchPolicy({ max_in_progress: 100, ...settings, ...changed });
  const parts: PassParts = {
    board,
    host,
    policy: policyOf({}),
    owner: "dispatcher-1",
    isDead: async () => false,
    clock,
    random: () => 0.5,
  };
  return {
    ...stage,
    board,
    host,
    parts,
    policyOf,
    createHost,
    /** Makes a pass of this dispatcher, with changed settings and parts for this pass only. */
    tick: (changed: DispatchSettings = {}, other: Partial<PassParts> = {}): Promise<PassReport> =>
      runPass({ ...parts, policy: policyOf(changed), ...other }, neverAborted),
    /** All rows of all tables. */
    async dump(): Promise<string> {
      const tables = [
        "board",
        "counter",
        "task",
        "link",
        "run",
        "comment",
        "event",
        "attachment",
        "subscription",
      ];
      const dispatch = ["dispatch_lease", "dispatcher", "dispatch_share", "dispatch_note"];
      const rows = [];
      for (const table of [...tables, ...dispatch])
        rows.push([table, await lab.raw(`select * from ${table}`)]);
      return JSON.stringify(rows);
    },
    async runs(id: string): Promise<readonly Run[]> {
      return (await store.show(id, neverAborted)).runs;
    },
  };
}

function until(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
  });
}
