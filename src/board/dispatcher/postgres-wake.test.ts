import { randomBytes } from "node:crypto";
import pg from "pg";
import { expect, it, vi } from "vitest";
import { openDispatchStage } from "../../../test/board-contracts/dispatcher/dispatch-stage.contract.ts";
import { openPostgresLab } from "../../../test/support/board-lab.ts";
import { describeWith } from "../../../test/support/services.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { WakeFlag } from "../../lib/time/wake-flag.ts";
import { openBoardStore } from "../board-store.ts";
import { Announcements } from "../database/postgres-announcements.ts";
import { watchBoard } from "../watch-board.ts";
import type { PassReport } from "./pass-report.ts";
import { type DispatcherParts, runDispatcher } from "./run-dispatcher.ts";

const WAIT = { timeout: 60_000, interval: 20 };

describeWith("postgres", "a dispatcher that PostgreSQL wakes", ({ url }) => {
  /** A running dispatcher whose timers never fire, so that only announcements wake it. */
  async function openRunning() {
    const stage = await openDispatchStage(() => openPostgresLab(url));
    const name = `wake-${randomBytes(8).toString("hex")}`;
    const address = new URL(url);
    address.searchParams.set("application_name", name);
    const lost: unknown[] = [];
    const reports: PassReport[] = [];
    const failures: unknown[] = [];
    const boardsTouched = new WakeFlag();
    const announcements = new Announcements({
      url: address.href,
      onUnknownBoard: () => boardsTouched.touch(),
      onLost: (error) => void lost.push(error),
    });
    const parts: DispatcherParts = {
      ...stage.parts,
      clock: { now: () => Date.now(), sleep: (_, signal) => stage.parts.clock.sleep(0, signal) },
      listBoards: async () => [stage.lab.location.slug],
      async openBoard() {
        const { board, host } = stage;
        const watch = watchBoard(stage.lab.location, board, parts.clock, announcements);
        return { board, host, watch, [Symbol.asyncDispose]: async () => watch[Symbol.dispose]() };
      },
      loadPolicy: async () => stage.policyOf({ dispatch_interval_seconds: 3_600 }),
      onPass: (report) => void reports.push(report),
      onIdle: () => undefined,
      onFailure: (_, error) => void failures.push(error),
    };
    const stop = new AbortController();
    const ended = runDispatcher(parts, stop.signal);
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    const listening = async (): Promise<readonly number[]> =>
      (
        await admin.query<{ pid: number }>(
          // The probe is the last statement of the listener: after it, the listener receives every announcement.
          "select pid from pg_stat_activity where application_name = $1 and query like 'select pg_notify%'",
          [name],
        )
      ).rows.map(({ pid }) => pid);
    const isStarted = (id: string) =>
      vi.waitFor(() => expect(stage.host.started.map(({ task }) => task.id)).toContain(id), WAIT);
    return {
      ...stage,
      name,
      admin,
      lost,
      reports,
      failures,
      listening,
      isStarted,
      async [Symbol.asyncDispose]() {
        stop.abort();
        await ended;
        await announcements[Symbol.asyncDispose]();
        await admin.end();
        await stage[Symbol.asyncDispose]();
      },
    };
  }

  it("board H3: a task of another client starts at once, although no timer ever fires", async () => {
    await using running = await openRunning();
    await vi.waitFor(async () => expect(await running.listening()).toHaveLength(1), WAIT);
    for (let n = 0; n < 3; n++) {
      await using other = await openBoardStore(running.lab.location, {}, neverAborted);
      const alice = other.as({ kind: "operator", name: "alice" });
      const { task } = await alice.create({ title: `t${n}`, assignee: "worker" }, neverAborted);
      await running.isStarted(task.id);
    }
    expect(running.lost).toEqual([]);
  });

  it("board H3: after a lost connection the dispatcher listens again and misses no event", async () => {
    await using running = await openRunning();
    await vi.waitFor(async () => expect(await running.listening()).toHaveLength(1), WAIT);
    const [before] = await running.listening();
    await running.admin.query("select pg_terminate_backend($1)", [before]);
    const missed = await running.add("missed");
    await running.isStarted(missed.id);
    await vi.waitFor(async () => {
      const [now] = await running.listening();
      expect(now).toBeDefined();
      expect(now).not.toBe(before);
    }, WAIT);
    const after = await running.add("after");
    await running.isStarted(after.id);
    expect(running.lost).toHaveLength(1);
    expect(running.lost[0]).toMatchObject({ code: "database-unavailable" });
  });

  it("a transaction that is rolled back does not wake the dispatcher", async () => {
    await using running = await openRunning();
    await running.isStarted((await running.add("a")).id);
    const announced: string[] = [];
    await running.admin.query("listen hermes_board");
    const schema = `hermes_board_${running.lab.location.slug}`;
    running.admin.on("notification", ({ payload }) => {
      if (payload === schema) announced.push(payload);
    });
    const undone = running.board.write(
      { kind: "operator", name: "alice" },
      function* (transaction) {
        transaction.recordEvent({ taskId: null, kind: "board_paused" });
        yield* transaction.finish();
        throw new Error("undone");
      },
      neverAborted,
    );
    await expect(undone).rejects.toThrow("undone");
    await running.admin.query("select 1");
    const before = announced.length;
    const { id } = await running.add("b");
    await running.isStarted(id);
    await vi.waitFor(() => expect(announced.length).toBeGreaterThan(before), WAIT);
    expect(before).toBe(0);
  });
});
