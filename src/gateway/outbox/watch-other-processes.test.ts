import { setImmediate as nextRound } from "node:timers/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { openGatewayDatabase } from "../store/gateway-database.ts";
import { createOutbox } from "./outbox.ts";
import { watchOtherProcesses } from "./watch-other-processes.ts";

const message = {
  target: { platform: "irc", chatId: "anna" },
  contents: [{ type: "text", text: "hello" } as const],
};

test("E15: what another process adds is noticed without polling; what the gateway adds itself is not reported", async () => {
  await using folder = await tempFolder();
  const path = folder.file("gateway.sqlite");
  using own = await openGatewayDatabase(path, systemClock, neverAborted);
  using other = await openGatewayDatabase(path, systemClock, neverAborted);
  const sleeps: number[] = [];
  const clock = {
    ...systemClock,
    sleep(ms: number, signal: AbortSignal): Promise<void> {
      sleeps.push(ms);
      return systemClock.sleep(ms, signal);
    },
  };
  let changes = 0;
  const stop = new AbortController();
  const watching = watchOtherProcesses(own, { clock, onChange: () => changes++ }, stop.signal);
  await own.write(() => createOutbox(own).add({ ...message, source: "own" }), neverAborted);
  await nextRound();
  expect(changes).toBe(0);
  await other.write(() => createOutbox(other).add({ ...message, source: "other" }), neverAborted);
  await expect.poll(() => changes).toBe(1);
  stop.abort();
  await expect(watching).rejects.toThrow();
  expect(sleeps.every((ms) => ms === 250)).toBe(true);
});
