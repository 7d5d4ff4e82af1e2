import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, it, vi } from "vitest";
import type { PassReport } from "../../src/board/dispatcher/pass-report.ts";
import { runDispatcher } from "../../src/board/dispatcher/run-dispatcher.ts";
import { findRunProcesses, terminateRun } from "../../src/board/supervisor/find-run.ts";
import { watchBoard } from "../../src/board/watch-board.ts";
import { findIdentity, serialiseIdentity } from "../../src/lib/process/process-identity.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type BoardLab, codeOf, openStage } from "../support/board-lab.ts";
import { openDispatchStage } from "./dispatcher/dispatch-stage.contract.ts";

const WAIT = { timeout: 60_000, interval: 20 };

export interface KnownBugsLab {
  openLab(): Promise<BoardLab>;
  /** Blocks all writes to the board until the returned object is disposed. */
  holdWrites(lab: BoardLab): Promise<AsyncDisposable>;
}

/** Bugs known from similar programs that a board must not have, on either database. */
export function knownBugsContract({ openLab, holdWrites }: KnownBugsLab): void {
  it.runIf(process.platform === "linux")("G7: a worker that is a zombie counts as dead", async () => {
    await using stage = await openStage(openLab);
    // The shell starts a child that exits when its input ends, then replaces itself with a program that never reaps the
    // child.
    const parent = spawn("sh", ["-c", "exec 3<&0; cat <&3 & echo $!; exec sleep 1000"]);
    const exited = once(parent, "exit");
    try {
      const [line] = await once(createInterface({ input: parent.stdout }), "line");
      const workerPid = Number(line);
      const identity = await findIdentity(workerPid, neverAborted);
      if (identity === undefined) throw new Error("the child process does not exist");
      const { id } = await stage.add("a");
      const claimed = await stage.claim(id);
      const facts = { workerPid, supervisorPid: workerPid, workerIdentity: serialiseIdentity(identity) };
      await stage.worker(claimed).describeRun(facts, neverAborted);
      const [run] = (await stage.store.show(id, neverAborted)).runs;
      if (run === undefined) throw new Error("the task has no run");
      const liveness = async () => (await findRunProcesses(stage.store.identity, run, neverAborted)).liveness;
      expect(await liveness()).toBe("alive");
      parent.stdin.end();
      await vi.waitFor(async () => expect(await liveness()).toBe("dead"), WAIT);
      expect(() => process.kill(workerPid, 0)).not.toThrow(); // the zombie still has its pid
      expect(await terminateRun(stage.store.identity, run, neverAborted)).toBe("gone");
    } finally {
      parent.kill("SIGKILL");
      await exited;
    }
  });

  it("G11: a changed cap takes effect in the next pass, without a restart", async () => {
    await using stage = await openDispatchStage(openLab);
    const reports: PassReport[] = [];
    const settings = { max_spawn: 1, dispatch_interval_seconds: 3_600 };
    const stop = new AbortController();
    const ended = runDispatcher(
      {
        owner: "dispatcher-1",
        isDead: async () => false,
        clock: systemClock,
        random: () => 0.5,
        listBoards: async () => ["lab"],
        async openBoard() {
          const watch = watchBoard(stage.lab.location, stage.board, systemClock);
          const { board, host } = stage;
          return { board, host, watch, [Symbol.asyncDispose]: async () => watch[Symbol.dispose]() };
        },
        loadPolicy: async () => stage.policyOf(settings),
        onPass: (report) => void reports.push(report),
        onIdle: () => undefined,
        onFailure: () => undefined,
      },
      stop.signal,
    );
    const deferred = () => reports.at(-1)?.deferred_capacity.length;
    try {
      await stage.add("a");
      await stage.add("b");
      await vi.waitFor(() => expect([stage.host.started.length, deferred()]).toEqual([1, 1]), WAIT);
      settings.max_spawn = 2;
      await stage.add("c");
      await vi.waitFor(() => expect([stage.host.started.length, deferred()]).toEqual([2, 1]), WAIT);
    } finally {
      stop.abort();
      await ended;
    }
  });

  it("G33: a write that waits too long for another process fails with database-busy and succeeds when repeated later", async () => {
    await using lab = await openLab();
    await using store = await lab.open({ busyDeadlineMs: 300 });
    const operator = store.as({ kind: "operator", name: "alice" });
    const create = () => operator.create({ title: "a" }, neverAborted);
    const held = await holdWrites(lab);
    try {
      expect(await codeOf(create())).toBe("database-busy");
    } finally {
      await held[Symbol.asyncDispose]();
    }
    expect((await create()).task.status).toBe("ready");
  });
}
