import { writeFile } from "node:fs/promises";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { createConnectFirst } from "./connect-first.ts";

const never = new AbortController().signal;

test("the first one connects, and the others wait until its socket is there", async () => {
  await using folder = await tempFolder();
  const socket = folder.file("socket");
  const first = createConnectFirst(socket);
  await first.wait(never);
  let isThrough = false;
  const second = first.wait(never).then(() => {
    isThrough = true;
  });
  for (let turns = 0; turns < 20; turns++) await turn();
  expect(isThrough).toBe(false);
  await writeFile(socket, "");
  await second;
});

test("once an attempt is over nobody waits for its connection, which may be cut by now", async () => {
  await using folder = await tempFolder();
  const first = createConnectFirst(folder.file("socket"));
  await first.wait(never);
  first.settle();
  const stop = new AbortController();
  const next = first.wait(stop.signal);
  for (let turns = 0; turns < 20; turns++) await turn();
  stop.abort(); // would end a wait
  await expect(next).resolves.toBeUndefined();
});

test("those who wait go on when the attempt fails", async () => {
  await using folder = await tempFolder();
  const first = createConnectFirst(folder.file("socket"));
  await first.wait(never);
  const second = first.wait(never);
  first.settle();
  await second;
});
