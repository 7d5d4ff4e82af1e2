import { expect, test } from "vitest";
import type { ChatAddress, InboundMessage, InboundSink, OutboundPart, Platform } from "./platform.ts";

/** A platform, its service, and a person who uses that service with a client of its own. */
export interface PlatformLab extends AsyncDisposable {
  readonly platform: Platform;
  /** The direct chat with the person. */
  readonly chat: ChatAddress;
  /** The person writes one message in that chat; resolves when the service has taken it. */
  write(text: string): Promise<void>;
  /** The texts that the person has got, once there are at least `count`. */
  received(count: number): Promise<readonly string[]>;
  /** Breaks the connection between the platform and its service. */
  cut(): Promise<void>;
}

export interface PlatformDifferences {
  /** Why the service loses messages that are written while the gateway is not connected. */
  readonly losesWhileAway?: string;
  /** Why the service delivers a message only once, even if it was not acknowledged. */
  readonly neverRepeats?: string;
  /** Why the service cannot tell whether a part has arrived. */
  readonly cannotTell?: string;
  /** Why there is no connection that could break. */
  readonly cannotBeCut?: string;
}

/** What every platform promises to the gateway. */
export function platformContract(
  openLab: () => Promise<PlatformLab>,
  { losesWhileAway, neverRepeats, cannotTell, cannotBeCut }: PlatformDifferences = {},
): void {
  const signal = new AbortController().signal;

  test("a message that a person writes arrives once, with its chat, its proven sender and an id", async () => {
    await using lab = await openLab();
    const inbox = new TestInbox();
    await using _connection = await lab.platform.connect(inbox, signal);
    await lab.write("hello there");
    const [message] = await inbox.messages(1);
    expect(message).toMatchObject({
      text: "hello there",
      chat: { ...lab.chat, type: "dm" },
      sender: { isBot: false, isProven: true },
      isAddressed: true,
    });
    expect(message?.id).not.toBe("");
    expect(inbox.aliveCount).toBeGreaterThan(0);
  });

  test("messages keep their order and have different ids", async () => {
    await using lab = await openLab();
    const inbox = new TestInbox();
    await using _connection = await lab.platform.connect(inbox, signal);
    for (const text of ["one", "two", "three"]) await lab.write(text);
    const messages = await inbox.messages(3);
    expect(messages.map(({ text }) => text)).toEqual(["one", "two", "three"]);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(3);
  });

  test("a part that is reported as sent has arrived, unchanged", async () => {
    await using lab = await openLab();
    await using connection = await lab.platform.connect(new TestInbox(), signal);
    const text = "Grüße: 1 < 2 & *stars* _lines_ `code` 😀";
    expect(await connection.send(part(lab.chat, "p-1", text), signal)).toMatchObject({ certainty: "sent" });
    expect(await lab.received(1)).toEqual([expect.stringContaining(text)]);
  });

  test("a text of the declared length arrives as one part", async () => {
    await using lab = await openLab();
    await using connection = await lab.platform.connect(new TestInbox(), signal);
    const text = "x".repeat(lab.platform.capabilities.maxTextLength);
    expect(await connection.send(part(lab.chat, "p-1", text), signal)).toMatchObject({ certainty: "sent" });
    const [received = ""] = await lab.received(1);
    expect(received.match(/x+/g)?.map(({ length }) => length)).toContain(text.length);
  });

  const testIfCuttable = cannotBeCut === undefined ? test : test.skip;
  testIfCuttable(
    `a part after the connection was cut is not reported as sent${formatReason(cannotBeCut)}`,
    async () => {
      await using lab = await openLab();
      await using connection = await lab.platform.connect(new TestInbox(), signal);
      await lab.cut();
      expect(await connection.ended).toMatchObject({ isRetryable: true });
      const result = await connection.send(part(lab.chat, "p-1", "too late"), signal);
      expect(["not-sent", "unknown"]).toContain(result.certainty);
    },
  );

  test("an aborted send says what is certain instead of throwing", async () => {
    await using lab = await openLab();
    await using connection = await lab.platform.connect(new TestInbox(), signal);
    const result = await connection.send(part(lab.chat, "p-1", "aborted"), AbortSignal.abort());
    expect(["not-sent", "unknown"]).toContain(result.certainty);
  });

  test("a new connection works after one has ended", async () => {
    await using lab = await openLab();
    const inbox = new TestInbox();
    {
      await using first = await lab.platform.connect(inbox, signal);
      if (cannotBeCut === undefined) {
        await lab.cut();
        await first.ended;
      }
    }
    await using second = await lab.platform.connect(inbox, signal);
    await lab.write("are you back?");
    await inbox.messages(1);
    expect(await second.send(part(lab.chat, "p-2", "yes"), signal)).toMatchObject({ certainty: "sent" });
    expect(await lab.received(1)).toEqual([expect.stringContaining("yes")]);
  });

  const whileAway = losesWhileAway === undefined ? test : test.skip;
  whileAway(
    `a message that was written while the gateway was not connected arrives${formatReason(losesWhileAway)}`,
    async () => {
      await using lab = await openLab();
      const inbox = new TestInbox();
      await (await lab.platform.connect(inbox, signal))[Symbol.asyncDispose]();
      await lab.write("while you were away");
      await using _connection = await lab.platform.connect(inbox, signal);
      const messages = await inbox.messages(1);
      expect(messages.map(({ text }) => text)).toEqual(["while you were away"]);
    },
  );

  const repeats = neverRepeats === undefined ? test : test.skip;
  repeats(
    `a message that could not be stored arrives again, with the same id${formatReason(neverRepeats)}`,
    async () => {
      await using lab = await openLab();
      const inbox = new TestInbox();
      inbox.isFull = true;
      const first = await lab.platform.connect(inbox, signal);
      await lab.write("do not lose me");
      expect((await first.ended).code).toBe("not-stored");
      await first[Symbol.asyncDispose]();
      inbox.isFull = false;
      await using _second = await lab.platform.connect(inbox, signal);
      const [message] = await inbox.messages(1);
      expect(message).toMatchObject({ text: "do not lose me", id: inbox.refused[0]?.id });
    },
  );

  const testIfFindable = cannotTell === undefined ? test : test.skip;
  testIfFindable(
    `whether a part has arrived is found out by another connection${formatReason(cannotTell)}`,
    async () => {
      await using lab = await openLab();
      const sent = part(lab.chat, "p-1", "find me");
      {
        await using connection = await lab.platform.connect(new TestInbox(), signal);
        await connection.send(sent, signal);
        await lab.received(1);
      }
      await using connection = await lab.platform.connect(new TestInbox(), signal);
      expect(await connection.findSent(sent, signal)).toMatchObject({ certainty: "sent" });
      expect(await connection.findSent(part(lab.chat, "p-9", "never sent"), signal)).toMatchObject({
        certainty: "not-sent",
      });
    },
  );

  test("a message of ours can be edited where the platform says so, also to the same text, and a lost one is final", async () => {
    await using lab = await openLab();
    if (!lab.platform.capabilities.actions.includes("edit")) return;
    await using connection = await lab.platform.connect(new TestInbox(), signal);
    const sent = await connection.send(part(lab.chat, "p-1", "a beginning"), signal);
    if (sent.certainty !== "sent" || sent.messageId === undefined) throw new Error("it has no message id");
    const edit = { type: "edit", chat: lab.chat, messageId: sent.messageId, text: "the whole text" } as const;
    expect(await connection.act(edit, signal)).toMatchObject({ ok: true });
    expect(await connection.act(edit, signal)).toMatchObject({ ok: true });
    expect(await lab.received(1)).toEqual(["the whole text"]);
    const gone = await connection.act({ ...edit, messageId: "999999" }, signal);
    expect(gone).toMatchObject({ ok: false, isFinal: true });
    expect(await connection.act(edit, AbortSignal.abort())).toMatchObject({ ok: false });
  });

  test("people see that we are typing where the platform says so", async () => {
    await using lab = await openLab();
    if (!lab.platform.capabilities.actions.includes("typing")) return;
    await using connection = await lab.platform.connect(new TestInbox(), signal);
    expect(await connection.act({ type: "typing", chat: lab.chat }, signal)).toMatchObject({ ok: true });
    expect(await lab.received(0)).toEqual([]);
  });

  test("connect ends with the reason of an abort", async () => {
    await using lab = await openLab();
    const reason = new Error("enough");
    await expect(lab.platform.connect(new TestInbox(), AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  test("disposing twice does no harm", async () => {
    await using lab = await openLab();
    const connection = await lab.platform.connect(new TestInbox(), signal);
    await connection[Symbol.asyncDispose]();
    await connection[Symbol.asyncDispose]();
  });
}

function formatReason(reason: string | undefined): string {
  return reason === undefined ? "" : ` [skipped: ${reason}]`;
}

function part(chat: ChatAddress, id: string, text: string): OutboundPart {
  return { id, chat, content: { type: "text", text }, createdAt: Date.now() };
}

/** An inbox in memory, with the same guarantees as that of the gateway. */
class TestInbox implements InboundSink {
  readonly #stored: InboundMessage[] = [];
  readonly refused: InboundMessage[] = [];
  cursor: string | undefined;
  isFull = false;
  aliveCount = 0;

  async store(messages: readonly InboundMessage[], cursor?: string): Promise<void> {
    if (this.isFull) {
      this.refused.push(...messages);
      throw new Error("the disk is full");
    }
    for (const message of messages)
      if (!this.#stored.some(({ id, chat }) => id === message.id && chat.chatId === message.chat.chatId))
        this.#stored.push(message);
    this.cursor = cursor ?? this.cursor;
  }

  alive(): void {
    this.aliveCount++;
  }

  async messages(count: number): Promise<readonly InboundMessage[]> {
    await expect.poll(() => this.#stored.length).toBeGreaterThanOrEqual(count);
    return this.#stored;
  }
}
