import { describe, expect, it } from "vitest";
import { openDispatchStage } from "../../../../test/board-contracts/dispatcher/dispatch-stage.contract.ts";
import { openSqliteLab } from "../../../../test/support/board-lab.ts";
import type { DispatchSettings } from "../../../../test/support/dispatch-policy.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { explainTask } from "./explain-task.ts";

type Stage = Awaited<ReturnType<typeof openDispatchStage>>;

/** For each reason: how to create a task that does not run for it, and the expected text and release. */
const CASES: Readonly<
  Record<
    string,
    { make(stage: Stage): Promise<string>; settings?: DispatchSettings; text?: RegExp; release: RegExp }
  >
> = {
  unassigned: { make: async ({ add }) => (await add("a", { assignee: null })).id, release: /kanban assign/ },
  nonspawnable: { make: async ({ add }) => (await add("a", { assignee: "stranger" })).id, release: /assign/ },
  held: {
    async make({ add, operator }) {
      const { id } = await add("a");
      await operator.hold(id, true, neverAborted);
      return id;
    },
    release: /hold .* --off/,
  },
  paused: {
    async make({ add, operator }) {
      await operator.pause(true, neverAborted);
      return (await add("a")).id;
    },
    release: /kanban resume/,
  },
  parents: {
    make: async ({ add }) => (await add("child", { parents: [(await add("parent")).id] })).id,
    release: /hermes kanban unlink 1 2$/,
  },
  scheduled: {
    async make({ add, operator, lab }) {
      const { id } = await add("a");
      await operator.schedule(id, lab.now() + 60_000, undefined, neverAborted);
      return id;
    },
    release: /unblock/,
  },
  blocked: {
    async make({ add, operator }) {
      const { id } = await add("a");
      await operator.block(id, "which colour?", undefined, neverAborted);
      await operator.comment(id, "I have seen it", neverAborted);
      return id;
    },
    text: /: which colour\?$/,
    release: /kanban answer \d+ TEXT$/,
  },
  backoff: {
    async make({ add, claim, system }) {
      const { id } = await add("a");
      const { run } = await claim(id);
      await system.endRun({ runId: run.id, outcome: "crashed", retryAfterMs: 60_000 }, neverAborted);
      return id;
    },
    release: /unguard/,
  },
  "board-cap": {
    async make({ add, claim }) {
      await claim((await add("running")).id);
      return (await add("a")).id;
    },
    settings: { max_spawn: 1 },
    release: /raise kanban.max_spawn/,
  },
  "profile-cap": {
    async make({ add, claim }) {
      await claim((await add("running")).id);
      return (await add("a")).id;
    },
    settings: { max_in_progress_per_profile: 1 },
    release: /max_in_progress_per_profile/,
  },
  "no-dispatcher": { make: async ({ add }) => (await add("a")).id, release: /kanban daemon/ },
  next: {
    async make({ add, tick }) {
      await tick();
      return (await add("a")).id;
    },
    release: /^$/,
  },
  running: {
    async make({ add, claim }) {
      const { id } = await add("a");
      await claim(id);
      return id;
    },
    release: /^$/,
  },
};

describe("explainTask", () => {
  for (const [reason, { make, settings = {}, text = /./, release }] of Object.entries(CASES)) {
    it(`names "${reason}" as the only reason, and what would release the task`, async () => {
      await using stage = await openDispatchStage(openSqliteLab);
      const id = await make(stage);
      const policy = stage.policyOf(settings);
      const why = await explainTask({ ...stage.parts, policy }, id, neverAborted);
      expect(why).toMatchObject({ task_id: id, reason });
      expect(why.release).toMatch(release);
      expect(why.text).toMatch(text);
    });
  }

  it("names the failure that caused a pause", async () => {
    await using stage = await openDispatchStage(openSqliteLab);
    const { id } = await stage.add("a");
    const { run } = await stage.claim(id);
    const ending = {
      runId: run.id,
      outcome: "crashed",
      retryAfterMs: 60_000,
      error: "exit code 7\nat line 3",
    } as const;
    await stage.system.endRun(ending, neverAborted);
    const { text } = await explainTask(stage.parts, id, neverAborted);
    expect(text).toMatch(/: it pauses after a failure \(exit code 7\)\.$/);
  });

  it("rejects an unknown task with task-not-found", async () => {
    await using stage = await openDispatchStage(openSqliteLab);
    await expect(explainTask(stage.parts, "t_none", neverAborted)).rejects.toMatchObject({
      code: "task-not-found",
    });
  });
});
