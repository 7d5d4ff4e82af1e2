import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { type BoardPlace, openBoardStore } from "../../src/board/board-store.ts";
import { AppError } from "../../src/lib/errors.ts";
import { CLAIM, runCaller } from "./board-lab.ts";

const never = new AbortController().signal;

/** What other processes do to a board in tests; started by `startChild`. */
const ROLES = {
  /** Claims one after the other until there is nothing left. */
  async "claim-all"({ place }: { place: BoardPlace }) {
    await using store = await open(place);
    const system = store.as({ kind: "system", name: "dispatcher" });
    const hostId = `host-${process.pid}`;
    await go();
    const ids: string[] = [];
    for (let idle = 0; idle < 3; ) {
      const { claimed } = await system.claim({ ...CLAIM, hostId, wanted: 1, caps: { board: 1_000 } }, never);
      ids.push(...claimed.map(({ task }) => task.id));
      idle = claimed.length === 0 ? idle + 1 : 0;
    }
    say(ids);
  },

  /** Ends one task and says how that went. */
  async end({ place, verb, taskId }: { place: BoardPlace; verb: "complete" | "archive"; taskId: string }) {
    await using store = await open(place);
    const operator = store.as({ kind: "operator", name: `o${process.pid}` });
    await go();
    say(
      await codeOf(
        verb === "complete" ? operator.complete(taskId, {}, never) : operator.archive(taskId, never),
      ),
    );
  },

  /** Does what boards are for, until it is killed. */
  async "write-forever"({ place }: { place: BoardPlace }) {
    await using store = await open(place);
    const operator = store.as({ kind: "operator", name: "o" });
    const system = store.as({ kind: "system", name: "d" });
    say("writing");
    let last: string | undefined;
    for (let n = 0; ; n++) {
      const parents = last === undefined || n % 3 === 0 ? [] : [last];
      const { task } = await operator.create({ title: `n${n}`, parents, assignee: `p${n % 2}` }, never);
      last = task.id;
      const { claimed } = await system.claim({ ...CLAIM, wanted: 2, caps: { perProfile: 50 } }, never);
      for (const { task, run, token } of claimed) {
        const worker = store.as(runCaller(task, run, token));
        await codeOf(worker.comment(task.id, "at work", never));
        await codeOf(
          n % 4 === 0
            ? worker.block(task.id, "no", undefined, never)
            : worker.complete(task.id, { summary: "done" }, never),
        );
      }
    }
  },
};

function open(place: BoardPlace) {
  return openBoardStore(place, { busyDeadlineMs: 120_000 }, never);
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

function say(report: unknown): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

/** Reports that it is ready and waits for a line. */
async function go(): Promise<void> {
  say("ready");
  for await (const _ of createInterface({ input: process.stdin })) return;
}

const [role = "", input = "{}"] = process.argv.slice(2);
await (ROLES as Record<string, (input: unknown) => Promise<void>>)[role]?.(JSON.parse(input));
