import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { openGatewayDatabase } from "../store/gateway-database.ts";
import { createPairing } from "./pairing.ts";

const person = (id: string) => ({ id, isBot: false, isProven: true });

async function openPairing() {
  const folder = await tempFolder();
  const clock = new TurnableClock();
  const path = folder.file("gateway.sqlite");
  const database = await openGatewayDatabase(path, clock, neverAborted);
  const pairing = createPairing(database);
  return {
    clock,
    pairing,
    database,
    /** As another process sees it. */
    openOther: async () => createPairing(await openGatewayDatabase(path, clock, neverAborted)),
    ask: (id: string, platform = "irc") =>
      database.write(() => pairing.request(platform, person(id)), neverAborted),
    async [Symbol.asyncDispose]() {
      database[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("D3: a code has eight unambiguous characters, and only its hash is stored", async () => {
  await using lab = await openPairing();
  const code = (await lab.ask("anna")) ?? "";
  expect(code).toMatch(/^[A-HJ-NP-Z2-9]{8}$/);
  const rows = JSON.stringify(lab.database.prepare("select * from pairing_request").all());
  expect(rows).not.toContain(code);
});

test("D4: a code gives the person who asked access in every process, and a revocation ends it", async () => {
  await using lab = await openPairing();
  const code = (await lab.ask("anna")) ?? "";
  const other = await lab.openOther();
  await other.approve("irc", `${code.slice(0, 4).toLowerCase()} ${code.slice(4)}\n`, neverAborted);
  expect(lab.pairing.isPaired("irc", "anna")).toBe(true);
  expect(lab.pairing.isPaired("telegram", "anna")).toBe(false);
  expect(await other.revoke("irc", "anna", neverAborted)).toBe(true);
  expect(lab.pairing.isPaired("irc", "anna")).toBe(false);
  expect(await other.revoke("irc", "anna", neverAborted)).toBe(false);
});

test("D3: a person gets one code in ten minutes, and three people wait at most", async () => {
  await using lab = await openPairing();
  const first = await lab.ask("anna");
  expect(await lab.ask("anna")).toBeUndefined();
  await lab.ask("ben");
  await lab.ask("carl");
  expect(await lab.ask("dora")).toBeUndefined();
  expect(await lab.ask("dora", "telegram")).toBeDefined();
  await lab.clock.advance(600_001);
  const second = await lab.ask("anna");
  expect(second).toBeDefined();
  expect(second).not.toBe(first);
  await expect(lab.pairing.approve("irc", first ?? "", neverAborted)).rejects.toMatchObject({
    code: "pairing-not-found",
  });
});

test("requests of the same millisecond are ordered by the ids of the people", async () => {
  await using lab = await openPairing();
  for (const id of ["carl", "anna", "ben"]) await lab.ask(id);
  expect(lab.pairing.waiting("irc").map(({ userId }) => userId)).toEqual(["anna", "ben", "carl"]);
});

test("D3: a code is valid for an hour", async () => {
  await using lab = await openPairing();
  const code = (await lab.ask("anna")) ?? "";
  await lab.clock.advance(3_600_001);
  await expect(lab.pairing.approve("irc", code, neverAborted)).rejects.toMatchObject({
    code: "pairing-not-found",
  });
  expect(lab.pairing.waiting()).toEqual([]);
});

test("D3, K19: five wrong codes lock the platform for an hour, even for the right code, and not for an id", async () => {
  await using lab = await openPairing();
  const code = (await lab.ask("anna")) ?? "";
  await lab.ask("ben");
  for (let attempt = 0; attempt < 5; attempt++)
    await expect(lab.pairing.approve("irc", "WRONG234", neverAborted)).rejects.toMatchObject({
      code: "pairing-not-found",
    });
  await expect(lab.pairing.approve("irc", code, neverAborted)).rejects.toMatchObject({
    code: "pairing-locked",
  });
  const ben = lab.pairing.waiting("irc").find(({ userId }) => userId === "ben");
  expect(await lab.pairing.approve("irc", ben?.id ?? "", neverAborted)).toMatchObject({ userId: "ben" });
});
