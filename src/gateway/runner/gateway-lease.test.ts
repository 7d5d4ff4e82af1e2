import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { type ProcessIdentity, readOwnIdentity } from "../../lib/process/process-identity.ts";
import { createLeases } from "../../lib/sqlite/lease.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { openGatewayDatabase } from "../store/gateway-database.ts";
import { GATEWAY_LEASE, GATEWAY_LEASE_MS, holdGatewayLease } from "./gateway-lease.ts";

async function openLab() {
  const folder = await tempFolder();
  const clock = new TurnableClock();
  const database = await openGatewayDatabase(folder.file("gateway.sqlite"), clock, neverAborted);
  const own = await readOwnIdentity(neverAborted);
  const leases = createLeases(database);
  return {
    ...{ clock, database, own, leases },
    /** What another gateway has left in the file. */
    holdAs: (owner: ProcessIdentity) => leases.acquire(GATEWAY_LEASE, owner, GATEWAY_LEASE_MS, neverAborted),
    hold: <Result>(action: (lost: AbortSignal, lastRenewal: number | undefined) => Promise<Result>) =>
      holdGatewayLease(database, own, clock, action, neverAborted),
    async [Symbol.asyncDispose]() {
      database[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("K30: the gateway of another machine on the same home is respected until its lease has expired", async () => {
  await using lab = await openLab();
  const startedAt = lab.clock.now();
  await lab.holdAs({ ...lab.own, hostId: "elsewhere" });
  await expect(lab.hold(async () => "ran")).rejects.toMatchObject({ code: "gateway-running" });
  await lab.clock.advance(GATEWAY_LEASE_MS + 1);
  expect(await lab.hold(async (_, lastRenewal) => lastRenewal)).toBe(startedAt);
});

test("A22, K1: a gateway that runs keeps its lease although it has expired, as after a jump of the clock", async () => {
  await using lab = await openLab();
  await lab.holdAs(lab.own);
  await lab.clock.advance(86_400_000);
  await expect(lab.hold(async () => "ran")).rejects.toMatchObject({
    code: "gateway-running",
    message: expect.stringContaining(`as process ${lab.own.pid}`),
  });
});

test("K1: a gateway whose lease another process has taken ends", async () => {
  await using lab = await openLab();
  const ended = lab.hold(async (lost) => {
    const take = lab.database.prepare("update lease set token = token + 1");
    await lab.database.write(() => take.run(), neverAborted);
    await lab.clock.advance(10_000);
    await expect.poll(() => lost.aborted).toBe(true);
    return "lost";
  });
  expect(await ended).toBe("lost");
});
