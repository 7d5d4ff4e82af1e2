import { writeFile } from "node:fs/promises";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { createConnectGate } from "./connect-gate.ts";

test("the first caller connects, and the others wait until its socket exists", async () => {
  await using folder = await tempFolder();
  const socket = folder.file("socket");
  const first = createConnectGate(socket);
  await first.wait(neverAborted);
  let isThrough = false;
  const second = first.wait(neverAborted).then(() => {
    isThrough = true;
  });
  for (let turns = 0; turns < 20; turns++) await turn();
  expect(isThrough).toBe(false);
  await writeFile(socket, "");
  await second;
});

test("after an attempt has ended, no caller waits for its connection, which may have been lost", async () => {
  await using folder = await tempFolder();
  const first = createConnectGate(folder.file("socket"));
  await first.wait(neverAborted);
  first.settle();
  const stop = new AbortController();
  const next = first.wait(stop.signal);
  for (let turns = 0; turns < 20; turns++) await turn();
  stop.abort(); // would interrupt a wait
  await expect(next).resolves.toBeUndefined();
});

test("waiting callers continue when the attempt fails", async () => {
  await using folder = await tempFolder();
  const first = createConnectGate(folder.file("socket"));
  await first.wait(neverAborted);
  const second = first.wait(neverAborted);
  first.settle();
  await second;
});
