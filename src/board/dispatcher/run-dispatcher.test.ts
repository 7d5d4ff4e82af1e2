import { describe, expect, it, vi } from "vitest";
import { openSqliteLab } from "../../../test/support/board-lab.ts";
import { systemClock } from "../../lib/clock.ts";
import { never, openDispatchStage } from "./contracts/dispatch-stage.contract.ts";
import { findHolder } from "./operations/board-lease.ts";
import { type DispatcherParts, runDispatcher } from "./run-dispatcher.ts";
import type { TickReport } from "./tick-report.ts";
import { Touch } from "./touch.ts";
import { watchBoard } from "./watch-board.ts";

const WAIT = { timeout: 60_000, interval: 20 };

/** A dispatcher over one good board, under way. */
async function openRunning(changes: (parts: DispatcherParts) => Partial<DispatcherParts> = () => ({})) {
  const stage = await openDispatchStage(openSqliteLab);
  const failures: string[] = [];
  const reports: TickReport[] = [];
  const idle: TickReport[] = [];
  const boards = ["lab"];
  const base: DispatcherParts = {
    owner: "dispatcher-1",
    isDead: async () => false,
    clock: systemClock,
    random: () => 0.5,
    listBoards: async () => boards,
    async openBoard() {
      const watch = watchBoard(stage.lab.place, stage.board, systemClock);
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

function openNever(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

describe("runDispatcher", () => {
  it("starts a task at once when it is made, although the next pass is an hour away", async () => {
    await using running = await openRunning();
    await vi.waitFor(() => expect(running.reports.length).toBeGreaterThan(0), WAIT);
    const { id } = await running.add("a");
    await vi.waitFor(() => expect(running.host.started.map(({ task }) => task.id)).toEqual([id]), WAIT);
  });

  it("comes to rest when nothing happens", async () => {
    await using running = await openRunning();
    await running.add("a");
    await vi.waitFor(() => expect(running.host.started).toHaveLength(1), WAIT);
    await vi.waitFor(async () => {
      const passes = running.reports.length;
      await systemClock.sleep(300, never);
      expect(running.reports.length).toBe(passes);
    }, WAIT);
  });

  it("B6.39: a board that fails does not stop the others, and is tried again", async () => {
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

  it("B6.39, G35: a pass that throws is told of, recorded on the board, and the next one works", async () => {
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

  it("what is due by the clock of the board does not keep a host awake whose clock is another", async () => {
    await using running = await openRunning();
    const { id } = await running.add("a");
    // The clock of this board stands still long ago; by the one of this host its time has come.
    await running.operator.schedule(id, running.lab.now() + 3_000_000, undefined, never);
    await vi.waitFor(() => expect(running.reports.at(-1)?.next_due_at).toBeGreaterThan(0), WAIT);
    await vi.waitFor(async () => {
      const passes = running.reports.length;
      await systemClock.sleep(300, never);
      expect(running.reports.length).toBe(passes);
    }, WAIT);
    expect(running.reports.length).toBeLessThan(20);
  });

  it("a list of boards that cannot be had leaves the known ones at work", async () => {
    const news = new Touch();
    let isAway = false;
    await using running = await openRunning(() => ({
      boardsChanged: (signal) => news.next(signal),
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

  it("a board that is made meanwhile, and one that had failed, is served as soon as that is told", async () => {
    const news = new Touch();
    const boards = ["lab"];
    let isBroken = true;
    let opened = 0;
    await using running = await openRunning(({ openBoard }) => ({
      clock: { now: () => 0, sleep: (_, signal) => openNever(signal) }, // nothing comes back by itself
      boardsChanged: (signal) => news.next(signal),
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
    news.touch();
    await vi.waitFor(() => expect(running.failures).toEqual(["other: Error: not yet"]), WAIT);
    isBroken = false;
    news.touch();
    await vi.waitFor(() => expect(opened).toBe(2), WAIT);
    expect(running.failures).toHaveLength(1);
  });

  it("B4.13: a dispatcher tells of six passes that started nothing", async () => {
    await using running = await openRunning(() => ({
      clock: { ...systemClock, sleep: (_, signal) => systemClock.sleep(20, signal) }, // an hour is soon over
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

  it("when it stops, waits for what it is starting, claims nothing more and gives its lease back", async () => {
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
    const holder = await running.board.read(findHolder, never);
    expect(holder).toMatchObject({ owner: "dispatcher-1", expires_at: 0 });
  });
});
