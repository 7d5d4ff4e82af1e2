import fc from "fast-check";
import { expect, test } from "vitest";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type BoardLab, claimNext, codeOf, openStage } from "../support/board-lab.ts";
import { BoardModel } from "../support/board-model.ts";
import { scale } from "../support/scale.ts";

const CODES: Record<string, string> = {
  parents: "task-parents-open",
  move: "task-move-refused",
  cycle: "task-link-cycle",
};

const TASKS = 6; // few, so that commands affect the same tasks

const VERBS = [
  "create",
  "complete",
  "block",
  "unblock",
  "claim",
  "release",
  "crash",
  "archive",
  "link",
  "unlink",
  "hold",
  "unhold",
  "promote",
  "schedule",
  "reopen",
  "recompute",
  "wait",
] as const;
const command = fc.record({
  verb: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...VERBS) },
    { weight: 2, arbitrary: fc.constantFrom("claim", "complete", "complete", "reopen") },
  ),
  a: fc.nat({ max: 9 }),
  b: fc.nat({ max: 9 }),
});
type Stage = Awaited<ReturnType<typeof openStage>>;

/** Compares random command sequences on a board with an in-memory model, including refusals. */
export function modelContract(openLab: () => Promise<BoardLab>): void {
  test("any sequence of commands has the effects and refusals of the model and leaves a consistent board", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 20, maxLength: 120, size: "max" }),
        async (commands) => {
          await using stage = await openStage(openLab);
          const model = new BoardModel();
          const ids: string[] = [];
          for (const { verb, a, b } of commands) {
            if (verb === "create" ? ids.length === TASKS : ids.length === 0) continue;
            const [one, two] = [a % Math.max(1, ids.length), b % Math.max(1, ids.length)];
            const expected = failureOf(() => inModel(model, verb, one, two));
            expect(await codeOf(onBoard(stage, verb, ids, one, two)), `${verb} ${one} ${two}`).toBe(expected);
            const { tasks } = await stage.store.list(
              { order: "created", includeArchived: true, limit: 1_000 },
              neverAborted,
            );
            expect(
              tasks.map(({ status }) => status),
              `${verb} ${one} ${two}`,
            ).toEqual(model.tasks.map(({ status }) => status));
          }
          expect(await stage.store.check(neverAborted)).toEqual([]);
        },
      ),
      { numRuns: scale.sequences },
    );
  });
}

function inModel(model: BoardModel, verb: (typeof VERBS)[number], a: number, b: number): void {
  const actions: Record<typeof verb, () => void> = {
    create: () => model.create(model.tasks.length === 0 ? [] : [a, b].slice(0, (a + b) % 3), a % 5 === 4),
    complete: () => model.complete(a),
    block: () => model.block(a),
    unblock: () => model.unblock(a),
    claim: () => model.claim(b + 1),
    release: () => model.release(a),
    crash: () => model.crash(a),
    archive: () => model.archive(a),
    link: () => model.link(a, b),
    unlink: () => model.unlink(a, b),
    hold: () => model.hold(a, true),
    unhold: () => model.hold(a, false),
    promote: () => model.promote(a),
    schedule: () => model.schedule(a, b * 100),
    reopen: () => model.reopen(a),
    recompute: () => model.recompute(),
    wait: () => model.wait(300),
  };
  actions[verb]();
}

async function onBoard(
  { operator, system, store, lab }: Stage,
  verb: (typeof VERBS)[number],
  ids: string[],
  a: number,
  b: number,
): Promise<unknown> {
  const [one = "", two = ""] = [ids[a], ids[b]];
  const actions: Record<typeof verb, () => Promise<unknown>> = {
    async create() {
      const parents = ids.length === 0 ? [] : [one, two].slice(0, (a + b) % 3);
      ids.push((await operator.create({ title: "t", parents, hold: a % 5 === 4 }, neverAborted)).task.id);
    },
    complete: () => operator.complete(one, { summary: "s" }, neverAborted),
    block: () => system.block(one, "why", undefined, neverAborted),
    unblock: () => operator.unblock(one, undefined, neverAborted),
    claim: () => claimNext(store, b + 1, { caps: { board: 1_000 } }),
    release: () => operator.release(one, "", neverAborted),
    async crash() {
      const { task } = await store.show(one, neverAborted);
      if (task.current_run_id !== null)
        await system.endRun({ runId: task.current_run_id, outcome: "crashed" }, neverAborted);
    },
    archive: () => operator.archive(one, neverAborted),
    link: () => operator.link(one, two, neverAborted),
    unlink: () => operator.unlink(one, two, neverAborted),
    hold: () => operator.hold(one, true, neverAborted),
    unhold: () => operator.hold(one, false, neverAborted),
    promote: () => operator.promote(one, undefined, neverAborted),
    schedule: () => operator.schedule(one, lab.now() + b * 100, undefined, neverAborted),
    reopen: () => operator.reopen(one, neverAborted),
    recompute: () => system.recompute(undefined, neverAborted),
    wait: () => lab.advance(300),
  };
  return actions[verb]();
}

function failureOf(action: () => void): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (!(error instanceof Error) || CODES[error.message] === undefined) throw error;
    return CODES[error.message];
  }
}
