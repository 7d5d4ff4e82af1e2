import { expect, test } from "vitest";
import { platformParts } from "../../../test/support/platform-parts.ts";
import { startScriptedService } from "../../../test/support/scripted-service.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { scriptedOptions } from "../platforms/scripted/options.ts";
import { open } from "../platforms/scripted/scripted-platform.ts";
import type { PlatformRecord } from "./gateway-state.ts";
import { keepConnected } from "./platform-link.ts";

type State = Pick<PlatformRecord, "name" | "state" | "code" | "reason" | "attempts">;

async function openLink() {
  const service = await startScriptedService();
  const clock = new TurnableClock();
  const states: State[] = [];
  const stop = new AbortController();
  const platform = open(scriptedOptions.parse({ address: service.address }), platformParts({ clock }));
  const stored: string[] = [];
  let isFull = false;
  const start = () =>
    keepConnected(
      {
        name: "scripted",
        platform,
        clock,
        random: () => 0.5,
        log: silentLog,
        inbox: {
          cursor: () => undefined,
          async store(messages) {
            if (isFull) throw new Error("no space left");
            stored.push(...messages.map(({ text }) => text));
          },
        },
        deliver: (_, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
        onState: async (state) => void states.push(state),
        onHeard: async () => undefined,
      },
      stop.signal,
    );
  let ended: Promise<void> | undefined;
  return {
    service,
    clock,
    states,
    stored,
    start() {
      ended = start();
    },
    setFull(value: boolean) {
      isFull = value;
    },
    reaches: (state: State["state"]) => expect.poll(() => states.at(-1)?.state).toBe(state),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      expect(states.at(-1)?.state).toBe("off");
      await service[Symbol.asyncDispose]();
    },
  };
}

test("A13, K37: a service that is down for days is tried again without limit, at most five minutes apart", async () => {
  await using lab = await openLink();
  lab.service.refuse({ code: "unreachable", message: "down for maintenance" });
  lab.start();
  for (let attempt = 1; attempt <= 30; attempt++) {
    await expect
      .poll(() => lab.states.at(-1))
      .toMatchObject({ state: "retrying", attempts: attempt, reason: "down for maintenance" });
    await lab.clock.advance(attempt <= 9 ? 2 ** (attempt - 1) * 1_000 : 300_000);
  }
  lab.service.refuse(undefined);
  await expect
    .poll(async () => {
      await lab.clock.advance(300_000);
      return lab.states.at(-1)?.state;
    })
    .toBe("connected");
});

test("A13: refused credentials wait for a person, and are not tried again", async () => {
  await using lab = await openLink();
  lab.service.refuse({ code: "refused", message: "the password is wrong" });
  lab.start();
  await lab.reaches("failed");
  expect(lab.states.at(-1)).toMatchObject({ code: "refused", reason: "the password is wrong" });
  await lab.clock.advance(3_600_000);
  expect(lab.service.greetings.length).toBe(1);
});

test("K12: a connection on which nothing is heard any more is closed and opened again", async () => {
  await using lab = await openLink();
  lab.start();
  await lab.reaches("connected");
  lab.service.setSilent(true);
  await expect
    .poll(async () => {
      await lab.clock.advance(10_000);
      return lab.states.some(({ code }) => code === "silent");
    })
    .toBe(true);
  lab.service.setSilent(false);
  await expect
    .poll(async () => {
      await lab.clock.advance(1_000);
      return lab.states.at(-1)?.state;
    })
    .toBe("connected");
  expect(lab.service.greetings.length).toBeGreaterThan(1);
});

test("A22, K12: a dead connection is noticed although the clock was set back by a day", async () => {
  await using lab = await openLink();
  lab.start();
  await lab.reaches("connected");
  lab.service.setSilent(true);
  lab.clock.setBack(86_400_000);
  for (let step = 0; step < 12; step++) await lab.clock.advance(10_000);
  await expect.poll(() => lab.states.some(({ code }) => code === "silent")).toBe(true);
});

test("a connection that is cut is opened again, and what was written meanwhile arrives", async () => {
  await using lab = await openLink();
  lab.start();
  await lab.reaches("connected");
  lab.service.cut();
  await lab.reaches("retrying");
  lab.service.write("while you were away");
  await lab.clock.advance(1_000);
  await expect.poll(() => lab.stored).toEqual(["while you were away"]);
});

test("K27: a message that cannot be stored is not acknowledged, and arrives again when there is room", async () => {
  await using lab = await openLink();
  lab.setFull(true);
  lab.start();
  await lab.reaches("connected");
  lab.service.write("keep me");
  await lab.reaches("retrying");
  expect(lab.states.at(-1)).toMatchObject({ code: "not-stored", reason: "no space left" });
  expect(lab.service.unacknowledged).toBe(1);
  lab.setFull(false);
  await lab.clock.advance(1_000);
  await expect.poll(() => lab.stored).toEqual(["keep me"]);
  await expect.poll(() => lab.service.unacknowledged).toBe(0);
});
