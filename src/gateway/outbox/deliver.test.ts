import { describe, expect, test } from "vitest";
import { platformParts } from "../../../test/support/platform-parts.ts";
import { startScriptedService } from "../../../test/support/scripted-service.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { WakeFlag } from "../../lib/time/wake-flag.ts";
import type { Connection } from "../platform.ts";
import { scriptedOptions } from "../platforms/scripted/options.ts";
import { open } from "../platforms/scripted/scripted-platform.ts";
import { openGatewayDatabase } from "../store/gateway-database.ts";
import { deliver } from "./deliver.ts";
import { createOutbox } from "./outbox.ts";

async function openDelivery(clock = systemClock) {
  const folder = await tempFolder();
  const service = await startScriptedService();
  const database = await openGatewayDatabase(folder.file("gateway.sqlite"), clock, neverAborted);
  const outbox = createOutbox(database);
  const added = new WakeFlag();
  const platform = open(scriptedOptions.parse({ address: service.address }), platformParts());
  const quiet: number[] = [];
  const running: { stop: AbortController; ended: Promise<void>; connection: Connection }[] = [];
  return {
    service,
    outbox,
    quiet,
    async say(
      source: string,
      texts: readonly string[],
      chatId = "anna",
      more: { readonly isSecret?: boolean; readonly isRevision?: boolean } = {},
    ): Promise<void> {
      const contents = texts.map((text) => ({ type: "text", text }) as const);
      await database.write(
        () => outbox.add({ source, target: { platform: "scripted", chatId }, contents, ...more }),
        neverAborted,
      );
      added.touch();
    },
    async start() {
      const connection = await platform.connect(
        { cursor: undefined, store: async () => undefined, alive: () => undefined },
        neverAborted,
      );
      const stop = new AbortController();
      const onQuiet = (_: unknown, forMs: number): void => void quiet.push(forMs);
      const parts = { outbox, platform: "scripted", clock, partAdded: added, canEdit: true, onQuiet };
      const ended = deliver(parts, connection, stop.signal);
      running.push({ stop, ended, connection });
    },
    /** Ends the delivery as a kill does: what is being sent stays so in its row. */
    async crash(): Promise<void> {
      const last = running.at(-1);
      await last?.connection[Symbol.asyncDispose]();
      last?.stop.abort();
      await last?.ended;
    },
    async ended(source: string): Promise<ReturnType<typeof outbox.ofSource>> {
      await expect
        .poll(() => outbox.ofSource(source).every(({ endedAt }) => endedAt !== undefined))
        .toBe(true);
      return outbox.ofSource(source);
    },
    async [Symbol.asyncDispose]() {
      for (const { stop, ended, connection } of running) {
        stop.abort();
        await connection[Symbol.asyncDispose]();
        await ended;
      }
      database[Symbol.dispose]();
      await service[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

describe("delivery", () => {
  test("K7: a text that is added twice under one source is one part", async () => {
    await using lab = await openDelivery();
    await lab.start();
    await lab.say("turn:1", ["the answer"]);
    await lab.say("turn:1", ["the answer, from a second path"]);
    await lab.say("turn:2", ["the next answer"]);
    expect(await lab.service.texts(2)).toEqual(["the answer", "the next answer"]);
  });

  test("a chat gets its parts in their order, also those that are added while one is being sent", async () => {
    await using lab = await openDelivery();
    await lab.start();
    const expected: string[] = [];
    for (let turn = 0; turn < 20; turn++) {
      await lab.say(`turn:${turn}`, [`${turn} a`, `${turn} b`]);
      expected.push(`${turn} a`, `${turn} b`);
    }
    expect(await lab.service.texts(40)).toEqual(expected);
  });

  test("a chat that waits does not hold up another one", async () => {
    await using lab = await openDelivery();
    lab.service.onSend(({ chat }) => (chat.chatId === "slow" ? "lose" : undefined));
    await lab.start();
    await lab.say("turn:1", ["never answered"], "slow");
    await lab.say("turn:2", ["quick"], "anna");
    expect(await lab.service.texts(1, "anna")).toEqual(["quick"]);
  });

  test("K8: a part that may have arrived is searched for, and not sent again if it is found", async () => {
    await using lab = await openDelivery();
    lab.service.onSend((_, index) =>
      index === 0 ? { certainty: "unknown", reason: "it took too long" } : undefined,
    );
    await lab.start();
    await lab.say("turn:1", ["once"]);
    const [part] = await lab.ended("turn:1");
    expect(part).toMatchObject({ state: "sent", isMarked: false, attempts: 2 });
    expect(await lab.service.texts(1)).toEqual(["once"]);
  });

  test("K8: where it cannot be known whether a part has arrived, it is sent again with a mark", async () => {
    await using lab = await openDelivery();
    lab.service.setCanTell(false);
    lab.service.onSend((_, index) =>
      index === 0 ? { certainty: "unknown", reason: "it took too long" } : undefined,
    );
    await lab.start();
    await lab.say("turn:1", ["perhaps twice"]);
    expect(await lab.ended("turn:1")).toMatchObject([{ state: "sent", isMarked: true }]);
    expect(await lab.service.texts(1)).toEqual(["(This may be a repetition.) perhaps twice"]);
  });

  test("K7: a part that reached the chat before the gateway died is not sent by the next one", async () => {
    await using lab = await openDelivery();
    lab.service.onSend((_, index) => (index === 0 ? "deliver-silently" : undefined));
    await lab.start();
    await lab.say("turn:1", ["delivered, and never confirmed"]);
    await lab.service.texts(1);
    await lab.crash();
    await lab.outbox.abandonAll(neverAborted);
    await lab.start();
    await lab.say("turn:2", ["after the crash"]);
    expect(await lab.service.texts(2)).toEqual(["delivered, and never confirmed", "after the crash"]);
  });

  test("a part that is refused for good is given up with the reason, and the next one is sent", async () => {
    await using lab = await openDelivery();
    const refusal = { certainty: "not-sent", reason: "the chat is gone", isFinal: true } as const;
    lab.service.onSend((_, index) => (index === 0 ? refusal : undefined));
    await lab.start();
    await lab.say("turn:1", ["to nobody"]);
    await lab.say("turn:2", ["to somebody"]);
    expect(await lab.ended("turn:1")).toMatchObject([{ state: "failed", reason: "the chat is gone" }]);
    expect(await lab.service.texts(1)).toEqual(["to somebody"]);
  });

  test("K9: a rate-limited chat waits as long as the service demands, and its order is kept", async () => {
    const clock = new TurnableClock();
    await using lab = await openDelivery(clock);
    const flood = {
      certainty: "not-sent",
      reason: "slow down",
      isFinal: false,
      retryAfterMs: 1_000_000,
    } as const;
    lab.service.onSend((_, index) => (index === 0 ? flood : undefined));
    await lab.start();
    await lab.say("turn:1", ["first"]);
    await lab.say("turn:2", ["second"]);
    await lab.say("turn:3", ["elsewhere"], "ben");
    expect(await lab.service.texts(1)).toEqual(["elsewhere"]);
    await expect.poll(() => clock.sleeping).toBeGreaterThan(0);
    await clock.advance(999_000);
    expect(lab.outbox.ofSource("turn:1")).toMatchObject([{ state: "pending", reason: "slow down" }]);
    await clock.advance(1_000);
    expect(await lab.service.texts(3)).toEqual(["elsewhere", "first", "second"]);
  });

  test("A22: a part that waits is sent although the clock was set back by a day meanwhile", async () => {
    const clock = new TurnableClock();
    await using lab = await openDelivery(clock);
    const flood = {
      certainty: "not-sent",
      reason: "slow down",
      isFinal: false,
      retryAfterMs: 60_000,
    } as const;
    lab.service.onSend((_, index) => (index === 0 ? flood : undefined));
    await lab.start();
    await lab.say("turn:1", ["first"]);
    await expect.poll(() => lab.outbox.ofSource("turn:1")).toMatchObject([{ reason: "slow down" }]);
    await expect.poll(() => clock.sleeping).toBeGreaterThan(0);
    clock.setBack(86_400_000);
    await clock.advance(60_000);
    expect(await lab.service.texts(1)).toEqual(["first"]);
  });

  test("a secret is removed from its row once it was sent", async () => {
    await using lab = await openDelivery();
    await lab.start();
    await lab.say("pairing:1", ["the code is ABCD"], "anna", { isSecret: true });
    expect(await lab.ended("pairing:1")).toMatchObject([{ part: { content: { text: "[a secret]" } } }]);
    expect(await lab.service.texts(1)).toEqual(["the code is ABCD"]);
  });

  test("K7: a revised part that has arrived is edited, and not sent a second time", async () => {
    await using lab = await openDelivery();
    await lab.start();
    await lab.say("live:1", ["the beg"]);
    await lab.ended("live:1");
    await lab.say("live:1", ["the beginning and the end", "and more"], "anna", { isRevision: true });
    await lab.ended("live:1");
    expect(await lab.service.texts(2)).toEqual(["the beginning and the end", "and more"]);
  });

  test("K7: a part that is revised while it is being sent is edited afterwards", async () => {
    await using lab = await openDelivery();
    lab.service.onSend((_, index) => (index === 0 ? "deliver-silently" : undefined));
    await lab.start();
    await lab.say("live:1", ["the beg"]);
    await lab.service.texts(1);
    await lab.say("live:1", ["the whole"], "anna", { isRevision: true });
    await lab.crash();
    await lab.outbox.abandonAll(neverAborted);
    await lab.start();
    await lab.ended("live:1");
    expect(await lab.service.texts(1)).toEqual(["the whole"]);
  });

  test("a revised part that was not sent yet is sent in its last version", async () => {
    await using lab = await openDelivery();
    await lab.say("live:1", ["the beg"]);
    await lab.say("live:1", ["the whole"], "anna", { isRevision: true });
    await lab.start();
    await lab.ended("live:1");
    expect(await lab.service.texts(1)).toEqual(["the whole"]);
    expect(lab.service.actions).toEqual([]);
  });

  test("a revised part whose message was deleted is sent as a new message", async () => {
    await using lab = await openDelivery();
    lab.service.onEdit(() => ({ ok: false, isFinal: true }));
    await lab.start();
    await lab.say("live:1", ["the beg"]);
    await lab.ended("live:1");
    await lab.say("live:1", ["the whole"], "anna", { isRevision: true });
    expect(await lab.service.texts(2)).toEqual(["the beg", "the whole"]);
  });

  test("K9: an edit that is rate-limited is made afterwards, and until then the chat gets no other request", async () => {
    const clock = new TurnableClock();
    await using lab = await openDelivery(clock);
    lab.service.onEdit((index) => (index === 0 ? { ok: false, retryAfterMs: 600_000 } : undefined));
    await lab.start();
    await lab.say("live:1", ["the beg"]);
    await lab.ended("live:1");
    await lab.say("live:1", ["the whole"], "anna", { isRevision: true });
    await expect.poll(() => lab.quiet).toEqual([600_000]);
    await expect.poll(() => clock.sleeping).toBeGreaterThan(0);
    await clock.advance(600_000);
    await lab.ended("live:1");
    expect(await lab.service.texts(1)).toEqual(["the whole"]);
  });
});
