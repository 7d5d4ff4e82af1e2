import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { openDatabase } from "../../lib/sqlite/database.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { createJobStore, jobMigration, TRACKED_JOBS } from "./job-store.ts";
import type { WatchBreaker } from "./watch/watch-breaker.ts";
import { NEW_WATCH } from "./watch/watch-state.ts";

const DAY_MS = 24 * 3_600_000;
const ended = { reason: "exited", exitCode: 0 } as const;
const process = { bootId: "b", pid: 7, startTime: "1", keeperPid: 6, keeperStartTime: "1" };

async function openStore() {
  const temp = await tempFolder();
  const clock = new TurnableClock();
  const open = () =>
    openDatabase(
      temp.file("jobs.sqlite"),
      { migrations: [jobMigration], synchronous: "NORMAL", clock },
      neverAborted,
    );
  const database = await open();
  const store = createJobStore(database, "local");
  const add = (number: number, to = store) =>
    to.add(
      {
        id: idOf(number),
        owner: "a",
        command: "true",
        lifetime: "turn",
        notify: true,
        watch: undefined,
        maxAgeMs: undefined,
      },
      neverAborted,
    );
  return {
    store,
    clock,
    open,
    database,
    add,
    async [Symbol.asyncDispose]() {
      database[Symbol.dispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
}

function idOf(number: number): string {
  return `proc_${number.toString(16).padStart(12, "0")}`;
}

test("another process reads the complete record, and jobs of another environment are not listed", async () => {
  await using opened = await openStore();
  const { store, add, open, database } = opened;
  await add(1);
  await store.run(idOf(1), { cwd: "/w", folder: "/f", input: "none", process }, neverAborted);
  await add(2, createJobStore(database, "elsewhere"));
  using other = await open();
  expect(createJobStore(other, "local").list()).toMatchObject([
    { id: idOf(1), state: "running", cwd: "/w", folder: "/f", process, environmentKey: "local" },
  ]);
});

test("the first recorded end is kept, and an end after a kill request is `killed`, whatever was observed", async () => {
  await using opened = await openStore();
  const { store, add } = opened;
  await add(1);
  await store.end(idOf(1), ended, neverAborted);
  await store.requestKill(idOf(1), neverAborted);
  await store.end(idOf(1), { reason: "lost", exitCode: -1 }, neverAborted);
  expect(store.find(idOf(1))).toMatchObject({ reason: "exited", exitCode: 0, killRequested: false });
  await add(2);
  await store.requestKill(idOf(2), neverAborted);
  await store.end(idOf(2), { reason: "exited", exitCode: 143 }, neverAborted);
  expect(store.find(idOf(2))).toMatchObject({ reason: "killed" });
  await store.end(idOf(2), ended, neverAborted);
  expect(store.find(idOf(2))).toMatchObject({ reason: "killed" });
});

test("a start that was abandoned in the meantime does not become running", async () => {
  await using opened = await openStore();
  const { store, add } = opened;
  await add(1);
  await store.end(idOf(1), { reason: "failed_start", exitCode: undefined }, neverAborted);
  expect(await store.run(idOf(1), { cwd: "/", folder: "/f", input: "none", process }, neverAborted)).toBe(
    false,
  );
});

test("the number of running jobs is limited; ended records are removed, oldest first", async () => {
  await using opened = await openStore();
  const { store, clock, add } = opened;
  for (let number = 0; number < TRACKED_JOBS; number++) expect(await add(number)).toBe(true);
  expect(await add(1000)).toBe(false);
  for (const number of [5, 3]) {
    await store.end(idOf(number), ended, neverAborted);
    await clock.advance(1_000);
  }
  expect(await store.prune(neverAborted)).toEqual([]);
  expect(await add(1001)).toBe(true);
  expect((await store.prune(neverAborted)).map(({ id }) => id)).toEqual([idOf(5)]);
});

test("finished records are kept for a week", async () => {
  await using opened = await openStore();
  const { store, clock, add } = opened;
  await add(1);
  await add(2);
  await store.end(idOf(1), ended, neverAborted);
  await clock.advance(7 * DAY_MS);
  expect(await store.prune(neverAborted)).toEqual([]);
  await clock.advance(1);
  expect((await store.prune(neverAborted)).map(({ id }) => id)).toEqual([idOf(1)]);
  expect(store.list().map(({ id }) => id)).toEqual([idOf(2)]);
});

test("the notice of an end can be claimed once, and not before the end", async () => {
  await using opened = await openStore();
  const { store, add, open } = opened;
  await add(1);
  expect(await store.claimNotice(idOf(1), neverAborted)).toBe(false);
  await store.end(idOf(1), ended, neverAborted);
  using other = await open();
  const claims = await Promise.all([
    store.claimNotice(idOf(1), neverAborted),
    createJobStore(other, "local").claimNotice(idOf(1), neverAborted),
    createJobStore(other, "local").holdNotices("a", neverAborted),
  ]);
  expect(claims.flat().filter(Boolean)).toHaveLength(1);
});

test("an ambiguous prefix returns two jobs", async () => {
  await using opened = await openStore();
  const { store, add } = opened;
  for (const number of [1, 2, 3]) await add(number);
  expect(store.findByPrefix("proc_0000")).toHaveLength(2);
  expect(store.findByPrefix(idOf(2))).toHaveLength(1);
});

test("D3: only one of two processes advances the same watch state, and none after the job has ended", async () => {
  await using opened = await openStore();
  const { store, add, open } = opened;
  const watch = { patterns: ["x"], state: NEW_WATCH };
  const job = { id: idOf(1), owner: "a", command: "true", lifetime: "turn", notify: false } as const;
  await store.add({ ...job, watch, maxAgeMs: undefined }, neverAborted);
  await store.run(idOf(1), { cwd: "/", folder: "/f", input: "none", process }, neverAborted);
  await add(2);
  using other = await open();
  const [seen] = store.list();
  if (seen === undefined) throw new Error("the job does not exist");
  const step = (offset: number) => (breaker: WatchBreaker) => {
    const next = { patterns: ["x"], state: { ...NEW_WATCH, offset } };
    return { watch: next, breaker, reportsEnd: true, result: "stepped" };
  };
  expect(await store.stepWatch(seen, step(5), neverAborted)).toBe("stepped");
  expect(await createJobStore(other, "local").stepWatch(seen, step(7), neverAborted)).toBeUndefined();
  const after = store.find(idOf(1));
  expect(after).toMatchObject({ notify: true, watch: { state: { offset: 5 } } });
  await store.end(idOf(1), ended, neverAborted);
  expect(await store.stepWatch(after ?? seen, step(9), neverAborted)).toBeUndefined();
});
