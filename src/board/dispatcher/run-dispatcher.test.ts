import { describe, expect, it, vi } from "vitest";
import { openDispatchStage } from "../../../test/board-contracts/dispatcher/dispatch-stage.contract.ts";
import { openSqliteLab } from "../../../test/support/board-lab.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { WakeFlag } from "../../lib/time/wake-flag.ts";
import { watchBoard } from "../watch-board.ts";
import type { PassReport } from "./pass-report.ts";
import { type DispatcherParts, runDispatcher } from "./run-dispatcher.ts";
import { findLeaseHolder } from "./transactions/board-lease.ts";

const WAIT = { timeout: 60_000, interval: 20 };

/** A running dispatcher with one working board. */
async function openRunning(changes: (parts: DispatcherParts) => Partial<DispatcherParts> = () => ({})) {
  const stage = await openDispatchStage(openSqliteLab);
  const failures: string[] = [];
  const reports: PassReport[] = [];
  const idle: PassReport[] = [];
  const boards = ["lab"];
  const base: DispatcherParts = {
    owner: "dispatcher-1",
    isDead: async () => false,
    clock: systemClock,
    random: () => 0.5,
    listBoards: async () => boards,
    async openBoard() {
      const watch = watchBoard(stage.lab.location, stage.board, systemClock);
      const { board, host } = stage;
      return { board, host, watch, [Symbol.asyncDispose]: async () => watch[Symbol.dispose]() };
    },
    loadPolicy: async () => stage.policyOf({ dispatch_interval_seconds: 3_600 }),
    onPass: (report) => void reports.push(report),
    onIdle: (report) => void idle.push(report),
    onFailure: (slug, error) => void failures.push(`${slug}: ${String(error)}`),
  };
  const stop = new AbortController();
  const ended = runDispatcher({ ...base, ...changes(base) }, stop.signal);
  return {
    ...stage,
    boards,
    failures,
    reports,
    idle,
    ended,
    stop: () => {
      stop.abort();
      return ended;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      await stage[Symbol.asyncDispose]();
    },
  };
}

function rejectOnAbort(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

describe("runDispatcher", () => {
  it("starts a new task at once, although the next timed pass is an hour away", async () => {
    await using running = await openRunning();
    await vi.waitFor(() => expect(running.reports.length).toBeGreaterThan(0), WAIT);
    const { id } = await running.add("a");
    await vi.waitFor(() => expect(running.host.started.map(({ task }) => task.id)).toEqual([id]), WAIT);
  });

  it("waits only until the next task is due, although the next timed pass is an hour away", async () => {
    const waits: number[] = [];
    await using running = await openRunning(() => ({
      clock: {
        ...systemClock,
        sleep(ms, signal) {
          waits.push(ms);
          return systemClock.sleep(ms, signal);
        },
      },
    }));
    const { id } = await running.add("a");
    await running.operator.schedule(id, running.lab.now() + 50_000, undefined, neverAborted);
    await vi.waitFor(() => expect(waits).toContain(50_000), WAIT); // the board's clock stands still
  });

  it("makes no passes while nothing happens", async () => {
    await using running = await openRunning();
    await running.add("a");
    await vi.waitFor(() => expect(running.host.started).toHaveLength(1), WAIT);
    await vi.waitFor(async () => {
      const passes = running.reports.length;
      await systemClock.sleep(300, neverAborted);
      expect(running.reports.length).toBe(passes);
    }, WAIT);
  });

  it("B6.39: a board that fails does not stop the others, and is retried", async () => {
    let attempts = 0;
    await using running = await openRunning(({ openBoard }) => ({
      async openBoard(slug, signal) {
        if (slug === "lab") return openBoard(slug, signal);
        attempts++;
        throw new Error("this file is damaged");
      },
      listBoards: async () => ["broken", "lab"],
    }));
    const first = await running.add("a");
    await vi.waitFor(() => expect(running.host.started[0]?.task.id).toBe(first.id), WAIT);
    await running.add("b");
    await vi.waitFor(() => expect(running.host.started).toHaveLength(2), WAIT);
    expect(running.failures[0]).toContain("broken: Error: this file is damaged");
    await vi.waitFor(() => expect(attempts).toBeGreaterThan(1), WAIT);
  });

  it("B6.39, G35: a pass that throws is reported and recorded on the board, and the next pass works", async () => {
    await using running = await openRunning();
    await vi.waitFor(() => expect(running.reports.length).toBeGreaterThan(0), WAIT);
    const runnable = running.host.runnable.bind(running.host);
    running.host.runnable = async (profile) => {
      running.host.runnable = runnable;
      throw new Error(`no view of ${profile}`);
    };
    const { id } = await running.add("a");
    await vi.waitFor(() => expect(running.failures).toHaveLength(1), WAIT);
    const [row] = await running.lab.raw<{ last_error: string }>("select last_error from dispatcher");
    expect(row?.last_error).toBe("no view of worker");
    await vi.waitFor(() => expect(running.host.started.map(({ task }) => task.id)).toEqual([id]), WAIT);
  });

  it("a host whose clock differs from the board's does not make passes in a loop", async () => {
    await using running = await openRunning();
    const { id } = await running.add("a");
    // The clock of this board stands still in the past; by the clock of this host, the task is due.
    await running.operator.schedule(id, running.lab.now() + 3_000_000, undefined, neverAborted);
    await vi.waitFor(() => expect(running.reports.at(-1)?.next_due_at).toBeGreaterThan(0), WAIT);
    await vi.waitFor(async () => {
      const passes = running.reports.length;
      await systemClock.sleep(300, neverAborted);
      expect(running.reports.length).toBe(passes);
    }, WAIT);
    expect(running.reports.length).toBeLessThan(20);
  });

  it("keeps dispatching the known boards while the list of boards cannot be read", async () => {
    const boardsTouched = new WakeFlag();
    let isAway = false;
    await using running = await openRunning(() => ({
      boardsChanged: (signal) => boardsTouched.next(signal),
      async listBoards() {
        if (isAway) throw new Error("the server is away");
        return ["lab"];
      },
    }));
    await vi.waitFor(() => expect(running.reports.length).toBeGreaterThan(0), WAIT);
    isAway = true;
    const { id } = await running.add("a");
    await vi.waitFor(() => expect(running.host.started.map(({ task }) => task.id)).toEqual([id]), WAIT);
    expect(running.failures[0]).toBe("all boards: Error: the server is away");
  });

  it("opens a new board, and retries a failed one, as soon as a change of the boards is announced", async () => {
    const boardsTouched = new WakeFlag();
    const boards = ["lab"];
    let isBroken = true;
    let opened = 0;
    await using running = await openRunning(({ openBoard }) => ({
      clock: { now: () => 0, sleep: (_, signal) => rejectOnAbort(signal) }, // no timer ever fires
      boardsChanged: (signal) => boardsTouched.next(signal),
      listBoards: async () => [...boards],
      async openBoard(slug, signal) {
        if (slug === "lab") return openBoard(slug, signal);
        opened++;
        if (isBroken) throw new Error("not yet");
        return openBoard(slug, signal);
      },
    }));
    await vi.waitFor(() => expect(running.reports.length).toBeGreaterThan(0), WAIT);
    boards.push("other");
    boardsTouched.touch();
    await vi.waitFor(() => expect(running.failures).toEqual(["other: Error: not yet"]), WAIT);
    isBroken = false;
    boardsTouched.touch();
    await vi.waitFor(() => expect(opened).toBe(2), WAIT);
    expect(running.failures).toHaveLength(1);
  });

  it("B4.13: a dispatcher reports six passes in a row that started nothing", async () => {
    await using running = await openRunning(() => ({
      clock: { ...systemClock, sleep: (_, signal) => systemClock.sleep(20, signal) }, // shortens every interval
    }));
    await running.add("a", { assignee: "stranger" });
    await vi.waitFor(async () => {
      await running.lab.advance(3_600_000);
      expect(running.idle.length).toBeGreaterThan(0);
    }, WAIT);
    expect(running.idle[0]).toMatchObject({
      idle: { passes: 6 },
      skipped_nonspawnable: [expect.any(String)],
    });
  });

  it("on stop, waits for running starts, claims no further task and releases its lease", async () => {
    await using running = await openRunning();
    await vi.waitFor(() => expect(running.reports.length).toBeGreaterThan(0), WAIT);
    const onStart = running.host.onStart;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let starting = 0;
    running.host.onStart = async (claimed) => {
      starting++;
      await held;
      return onStart(claimed);
    };
    await running.add("a");
    await vi.waitFor(() => expect(starting).toBe(1), WAIT);
    const ended = running.stop();
    await running.add("b");
    release();
    await ended;
    expect(running.host.started).toHaveLength(1);
    const holder = await running.board.read(findLeaseHolder, neverAborted);
    expect(holder).toMatchObject({ owner: "dispatcher-1", expires_at: 0 });
  });
});
