import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { openBoardStore } from "../../src/board/board-store.ts";
import type { BoardLocation } from "../../src/board/open-board.ts";
import { AppError } from "../../src/lib/errors.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { claimNext, runCaller } from "./board-lab.ts";

/** Roles of other processes that use a board in tests; started by `startChild`. */
const ROLES = {
  /** Claims one task after the other until none is left. */
  async "claim-all"({ location }: { location: BoardLocation }) {
    await using store = await open(location);
    const hostId = `host-${process.pid}`;
    await waitForLine();
    const ids: string[] = [];
    for (let isDone = false; !isDone; ) {
      const { claimed, refused } = await claimNext(store, 1, { hostId, caps: { board: 1_000 } });
      ids.push(...claimed.map(({ task }) => task.id));
      isDone = claimed.length + refused.length === 0;
    }
    print(ids);
  },

  /** Ends one task and prints the outcome. */
  async end({
    location,
    verb,
    taskId,
  }: {
    location: BoardLocation;
    verb: "complete" | "archive";
    taskId: string;
  }) {
    await using store = await open(location);
    const operator = store.as({ kind: "operator", name: `o${process.pid}` });
    await waitForLine();
    print(
      await codeOf(
        verb === "complete"
          ? operator.complete(taskId, {}, neverAborted)
          : operator.archive(taskId, neverAborted),
      ),
    );
  },

  /** Uses the board in ordinary ways until it is killed. */
  async "write-forever"({ location }: { location: BoardLocation }) {
    await using store = await open(location);
    const operator = store.as({ kind: "operator", name: "o" });
    print("writing");
    let last: string | undefined;
    for (let n = 0; ; n++) {
      const parents = last === undefined || n % 3 === 0 ? [] : [last];
      const { task } = await operator.create(
        { title: `n${n}`, parents, assignee: `p${n % 2}` },
        neverAborted,
      );
      last = task.id;
      const { claimed } = await claimNext(store, 2, { caps: { perProfile: 50 } });
      for (const { task, run, token } of claimed) {
        const worker = store.as(runCaller(task, run, token));
        await codeOf(worker.comment(task.id, "at work", neverAborted));
        await codeOf(
          n % 4 === 0
            ? worker.block(task.id, "no", undefined, neverAborted)
            : worker.complete(task.id, { summary: "done" }, neverAborted),
        );
      }
    }
  },
};

function open(location: BoardLocation) {
  return openBoardStore(location, { busyDeadlineMs: 120_000 }, neverAborted);
}

async function codeOf(action: Promise<unknown>): Promise<string> {
  try {
    await action;
    return "ok";
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

function print(report: unknown): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

/** Reports that it is ready and waits for a line. */
async function waitForLine(): Promise<void> {
  print("ready");
  for await (const _ of createInterface({ input: process.stdin })) return;
}

const [role = "", input = "{}"] = process.argv.slice(2);
await (ROLES as Record<string, (input: unknown) => Promise<void>>)[role]?.(JSON.parse(input));
