import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { startChild, startChildren } from "../../../test/support/child.ts";
import { scale } from "../../../test/support/scale.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { readOwnIdentity } from "../process/process-identity.ts";
import { neverAborted } from "../time/never-aborted.ts";
import { type Database, openDatabase } from "./database.ts";
import { type AcquireResult, createLeases, type Leases, leaseMigration } from "./lease.ts";

const CHILD = new URL("../../../test/support/storage-child.ts", import.meta.url);

function open(path: string, clock: TurnableClock): Promise<Database> {
  return openDatabase(path, { migrations: [leaseMigration], synchronous: "NORMAL", clock }, neverAborted);
}

async function acquire(leases: Leases, ttlMs: number, name = "a"): Promise<number> {
  const result = await leases.acquire(name, await readOwnIdentity(neverAborted), ttlMs, neverAborted);
  if ("heldBy" in result) throw new Error("held");
  return result.token;
}

test("a free name is taken; other callers get the holder and the expiry time", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock();
  using database = await open(folder.file("a.sqlite"), clock);
  const leases = createLeases(database);
  const own = await readOwnIdentity(neverAborted);
  await acquire(leases, 1_000);
  const foreignOwner = { ...own, hostId: "elsewhere" };
  expect(await leases.acquire("a", foreignOwner, 1_000, neverAborted)).toEqual({
    heldBy: own,
    expiresAt: clock.now() + 1_000,
  });
  expect(await leases.acquire("b", foreignOwner, 1_000, neverAborted)).toEqual({ token: expect.any(Number) });
  expect(await leases.acquire("b", own, 1_000, neverAborted)).toMatchObject({ heldBy: foreignOwner });
});

test("an expired lease is taken over at its end, not before, and the former holder cannot renew it", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock();
  using database = await open(folder.file("a.sqlite"), clock);
  const leases = createLeases(database);
  const first = await acquire(leases, 1_000);
  await clock.advance(999);
  await expect(acquire(leases, 1_000)).rejects.toThrow("held");
  await clock.advance(1);
  const second = await acquire(leases, 1_000);
  expect(second).toBeGreaterThan(first);
  expect(await leases.renew("a", first, neverAborted)).toBe(false);
  expect(await leases.release("a", first, neverAborted)).toBe(false);
  expect(await leases.renew("a", second, neverAborted)).toBe(true);
});

test("renewal extends by the original duration, even after expiry if no other process took the lease", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock();
  using database = await open(folder.file("a.sqlite"), clock);
  const leases = createLeases(database);
  const token = await acquire(leases, 1_000);
  await clock.advance(5_000);
  expect(await leases.renew("a", token, neverAborted)).toBe(true);
  await clock.advance(999);
  await expect(acquire(leases, 1_000)).rejects.toThrow("held");
});

test("a released name is free immediately, and its token is never reused", async () => {
  await using folder = await tempFolder();
  using database = await open(folder.file("a.sqlite"), new TurnableClock());
  const leases = createLeases(database);
  const first = await acquire(leases, 1_000);
  expect(await leases.release("b", first, neverAborted)).toBe(false);
  expect(await leases.release("a", first, neverAborted)).toBe(true);
  expect(await leases.release("a", first, neverAborted)).toBe(false);
  expect(await leases.renew("a", first, neverAborted)).toBe(false);
  expect(await acquire(leases, 1_000)).toBeGreaterThan(first);
});

test("the lease of a killed process is taken over immediately, although it has an hour left", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  await using holder = startChild(CHILD, "lease-hold", { path, name: "a", ttlMs: 3_600_000 });
  const held = await holder.next<{ token: number }>();
  using database = await open(path, new TurnableClock(Date.now()));
  const leases = createLeases(database);
  await expect(acquire(leases, 1_000)).rejects.toThrow("held");
  await holder.kill();
  expect(await acquire(leases, 1_000)).toBeGreaterThan(held.token);
  expect(await leases.renew("a", held.token, neverAborted)).toBe(false);
});

test("when many processes find the holder dead, exactly one gets its lease", {
  timeout: 600_000,
}, async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  await using holder = startChild(CHILD, "lease-hold", { path, name: "dead", ttlMs: 3_600_000 });
  const held = await holder.next<{ token: number }>();
  await using rivals = startChildren(scale.processes, CHILD, "lease-try", {
    path,
    name: "dead",
    now: Date.now(),
  });
  await rivals.next();
  await holder.kill();
  rivals.send("go");
  const results = await rivals.next<AcquireResult>();
  const winners = results.filter((result) => "token" in result);
  expect(winners).toHaveLength(1);
  expect(winners[0]?.token).toBeGreaterThan(held.token);
  const winner = rivals.all[results.findIndex((result) => "token" in result)];
  for (const result of results) {
    if ("heldBy" in result) expect(result.heldBy.pid).toBe(winner?.pid);
  }
});

test("an expired lease of a living process goes to exactly one of many", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  await using holder = startChild(CHILD, "lease-hold", { path, name: "late", ttlMs: 1_000 });
  const held = await holder.next<{ token: number }>();
  await using rivals = startChildren(scale.processes, CHILD, "lease-try", {
    path,
    name: "late",
    now: Date.now() + 60_000,
  });
  await rivals.next();
  rivals.send("go");
  const winners = (await rivals.next<AcquireResult>()).filter((result) => "token" in result);
  expect(winners).toEqual([{ token: held.token + 1 }]);
});

test("many processes that increment a counter under a lease lose no update, even if one is killed while it holds the lease", {
  timeout: 600_000,
}, async () => {
  await using folder = await tempFolder();
  const [path, file] = [folder.file("a.sqlite"), folder.file("count")];
  writeFileSync(file, "0");
  await using holder = startChild(CHILD, "lease-hold", { path, name: "a", ttlMs: 3_600_000 });
  await holder.next();
  await using counters = startChildren(scale.processes, CHILD, "lease-increment", {
    path,
    name: "a",
    file,
    times: 10,
  });
  await counters.next();
  counters.send("go");
  await holder.kill();
  const tokens = (await counters.next<number[]>()).flat();
  expect(new Set(tokens).size).toBe(scale.processes * 10);
  expect(readFileSync(file, "utf8")).toBe(`${scale.processes * 10}`);
});

test("in any order of operations, at most one process holds a name and tokens only increase", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock();
  using database = await open(folder.file("a.sqlite"), clock);
  const leases = createLeases(database);
  const owner = await readOwnIdentity(neverAborted);
  const step = fc.record({
    what: fc.constantFrom("acquire", "renew", "release", "advance"),
    name: fc.constantFrom("a", "b"),
    ttlMs: fc.integer({ min: 1, max: 50 }),
    pick: fc.nat(),
  });
  let greatest = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      await clock.advance(1_000); // leases of the previous case have expired
      const current = new Map<string, { token: number; ttlMs: number; end: number }>();
      const given: number[] = [];
      for (const { what, name, ttlMs, pick } of steps) {
        const model = current.get(name);
        const token = given[pick % Math.max(given.length, 1)] ?? 0;
        if (what === "advance") await clock.advance(ttlMs);
        if (what === "acquire") {
          const result = await leases.acquire(name, owner, ttlMs, neverAborted);
          if (model !== undefined && model.end > clock.now()) {
            expect(result).toEqual({ heldBy: owner, expiresAt: model.end });
          } else {
            if (!("token" in result)) throw new Error("a free name was refused");
            expect(result.token).toBeGreaterThan(greatest);
            greatest = result.token;
            given.push(greatest);
            current.set(name, { token: greatest, ttlMs, end: clock.now() + ttlMs });
          }
        }
        if (what === "renew") {
          expect(await leases.renew(name, token, neverAborted)).toBe(model?.token === token);
          if (model?.token === token) model.end = clock.now() + model.ttlMs;
        }
        if (what === "release") {
          expect(await leases.release(name, token, neverAborted)).toBe(model?.token === token);
          if (model?.token === token) current.delete(name);
        }
      }
    }),
    { numRuns: scale.sequences },
  );
});

test("an unreadable holder is reported as damage until its lease expires", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock();
  using database = await open(folder.file("a.sqlite"), clock);
  const leases = createLeases(database);
  await acquire(leases, 1_000);
  await database.write(() => database.prepare("update lease set owner = 'me'").run(), neverAborted);
  await expect(acquire(leases, 1_000)).rejects.toMatchObject({ code: "database-damaged" });
  await clock.advance(1_000);
  await acquire(leases, 1_000);
});
