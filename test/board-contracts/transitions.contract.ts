import { describe, expect, test } from "vitest";
import type { BoardStore } from "../../src/board/board-store.ts";
import type { ClaimedTask } from "../../src/board/operations/runs/claim.ts";
import type { Task } from "../../src/board/task.ts";
import {
  isMove,
  type Move,
  mayMove,
  STATUSES,
  type Status,
  TRANSITIONS,
} from "../../src/board/transitions.ts";
import { AppError } from "../../src/lib/errors.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import type { BoardLab } from "../support/board-lab.ts";

const CLAIM = { from: "ready", leaseMs: 30_000, hostId: "host-1" } as const;

interface Stage {
  readonly lab: BoardLab;
  readonly store: BoardStore;
}

const operatorOf = ({ store }: Stage) => store.as({ kind: "operator", name: "alice" });
const systemOf = ({ store }: Stage) => store.as({ kind: "system", name: "dispatcher" });

/** Moves a new task to each status with public operations. */
const REACH: Record<Status, (stage: Stage, id: string) => Promise<unknown>> = {
  triage: async () => undefined,
  todo: (stage, id) => operatorOf(stage).block(id, "wait", "dependency", neverAborted),
  scheduled: (stage, id) => operatorOf(stage).schedule(id, stage.lab.now(), undefined, neverAborted),
  ready: async () => undefined,
  running: (stage, id) => claim(stage, id, "ready"),
  blocked: async (stage, id) => {
    await systemOf(stage).endRun(
      { runId: (await claim(stage, id, "ready")).run.id, outcome: "crashed", failureLimit: 1 },
      neverAborted,
    );
  },
  review: (stage, id) => operatorOf(stage).requestReview(id, "bob", {}, neverAborted),
  done: (stage, id) => operatorOf(stage).complete(id, {}, neverAborted),
  archived: (stage, id) => operatorOf(stage).archive(id, neverAborted),
};

async function claim(stage: Stage, id: string, from: "ready" | "review"): Promise<ClaimedTask> {
  const [claimed] = (await systemOf(stage).claim({ ...CLAIM, from, taskIds: [id] }, neverAborted)).claimed;
  if (claimed === undefined) throw new Error(`${id} was not claimed`);
  return claimed;
}

async function make(stage: Stage, status: Status): Promise<Task> {
  const { task } = await operatorOf(stage).create(
    { title: status, assignee: "worker", triage: status === "triage" },
    neverAborted,
  );
  await REACH[status](stage, task.id);
  return statusOf(stage, task.id, status);
}

async function statusOf({ store }: Stage, id: string, expected?: Status): Promise<Task> {
  const { task } = await store.show(id, neverAborted);
  if (expected !== undefined) expect(task.status).toBe(expected);
  return task;
}

/** The operation that requests each move. */
const ATTEMPT: Record<Move, (stage: Stage, task: Task) => Promise<unknown>> = {
  specify: (stage, { id }) => operatorOf(stage).specify(id, { title: "written" }, neverAborted),
  decompose: (stage, { id }) =>
    operatorOf(stage).decompose(id, { parts: [{ title: "part" }], assignee: "x" }, neverAborted),
  recompute: (stage) => systemOf(stage).recompute(9, neverAborted),
  claim: async (stage, { id, status }) => {
    const from = status === "review" ? "review" : "ready";
    const { claimed } = await systemOf(stage).claim({ ...CLAIM, from, taskIds: [id] }, neverAborted);
    expect(claimed).toHaveLength(mayMove("claim", status) ? 1 : 0);
  },
  "reject-claim": async (stage, { id, status }) => {
    // No operation leaves a ready task with an open parent, so insert the link directly.
    const { task } = await operatorOf(stage).create({ title: "parent", hold: true }, neverAborted);
    await stage.lab.raw(`insert into link (parent_id, child_id) values ('${task.id}', '${id}')`);
    const from = status === "review" ? "review" : "ready";
    const { claimed } = await systemOf(stage).claim({ ...CLAIM, from, taskIds: [id] }, neverAborted);
    expect(claimed).toEqual([]);
  },
  link: async (stage, { id }) => {
    const { task } = await operatorOf(stage).create({ title: "parent" }, neverAborted);
    await operatorOf(stage).link(task.id, id, neverAborted);
  },
  block: (stage, { id }) => operatorOf(stage).block(id, "no", undefined, neverAborted),
  complete: (stage, { id }) => operatorOf(stage).complete(id, { summary: "did it" }, neverAborted),
  "request-review": (stage, { id }) => operatorOf(stage).requestReview(id, "bob", {}, neverAborted),
  "request-changes": (stage, { id }) => operatorOf(stage).requestChanges(id, "again", neverAborted),
  "reopen-review": (stage, { id }) => operatorOf(stage).reopenReview(id, "again", neverAborted),
  unblock: (stage, { id }) => operatorOf(stage).unblock(id, undefined, neverAborted),
  promote: (stage, { id }) => operatorOf(stage).promote(id, undefined, neverAborted),
  schedule: (stage, { id }) =>
    operatorOf(stage).schedule(id, stage.lab.now() + 1_000, undefined, neverAborted),
  reclaim: (stage, { id }) => operatorOf(stage).release(id, "stop", neverAborted),
  "give-up": async (stage, { current_run_id }) => {
    if (current_run_id === null) return;
    await systemOf(stage).endRun(
      { runId: current_run_id, outcome: "crashed", failureLimit: 1 },
      neverAborted,
    );
  },
  archive: (stage, { id }) => operatorOf(stage).archive(id, neverAborted),
  reopen: (stage, { id }) => operatorOf(stage).reopen(id, neverAborted),
  invalidate: async (stage, { id }) => {
    const { task: parent } = await operatorOf(stage).create({ title: "parent" }, neverAborted);
    await operatorOf(stage).complete(parent.id, {}, neverAborted);
    await stage.lab.raw(`insert into link (parent_id, child_id) values ('${parent.id}', '${id}')`);
    await operatorOf(stage).reopen(parent.id, neverAborted);
  },
};
/** Moves that are never refused: where they do not apply, nothing happens. */
const NEVER_REFUSED: readonly Move[] = [
  "recompute",
  "claim",
  "reject-claim",
  "reclaim",
  "give-up",
  "invalidate",
];

/** Tests every move of the table from every status. */
export function transitionsContract(openLab: () => Promise<BoardLab>): void {
  describe("A4: every move, from every status", () => {
    test.each(Object.keys(TRANSITIONS) as Move[])(
      "A4: %s leads only to the statuses in the table",
      async (move) => {
        await using lab = await openLab();
        await using store = await lab.open();
        const stage = { lab, store };
        for (const from of STATUSES) {
          const task =
            move === "request-changes" && from === "running"
              ? await underReview(stage)
              : await make(stage, from);
          const before = await store.stats(neverAborted);
          const refusal = await ATTEMPT[move](stage, task).then(
            () => undefined,
            (error: unknown) => error,
          );
          const { status } = await statusOf(stage, task.id);
          if (mayMove(move, from)) {
            expect(refusal, `${move} from ${from}`).toBeUndefined();
            const events = await store.events(before.latestEventId, 50, neverAborted);
            const first = events.find(({ task_id, to_status }) => task_id === task.id && to_status !== null);
            const to = first?.to_status ?? from;
            expect(first?.from_status).toBe(from);
            expect(isMove(move, from, to), `${move} from ${from} to ${to}`).toBe(true);
          } else {
            expect(status).toBe(from);
            if (!NEVER_REFUSED.includes(move) && !(move === "link" && refusal === undefined)) {
              expect(refusal, `${move} from ${from}`).toBeInstanceOf(AppError);
              expect((refusal as AppError).code).toBe("task-move-refused");
              if (move !== "link")
                expect((await store.stats(neverAborted)).latestEventId).toBe(before.latestEventId);
            }
          }
          // Archive the task so that it does not affect the next round.
          if (status !== "archived") await operatorOf(stage).archive(task.id, neverAborted);
        }
        // Directly inserted links may leave a ready task with an open parent until it is claimed.
        if (move !== "invalidate" && move !== "reject-claim")
          expect(await store.check(neverAborted)).toEqual([]);
      },
    );
  });
}

async function underReview(stage: Stage): Promise<Task> {
  const task = await make(stage, "review");
  await claim(stage, task.id, "review");
  return statusOf(stage, task.id, "running");
}
