import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Misbehaviour, startScriptedServer } from "../../test/support/scripted-server.ts";
import { TurnableClock } from "../../test/support/turnable-clock.ts";
import { openHttpClient } from "../lib/http/http-client.ts";
import { type Clock, systemClock } from "../lib/time/clock.ts";
import { ask, collect, createTestSignal, lastOf, messageOf, ofType } from "./provider.contract.ts";
import type { Model, ModelEvent, ModelFailure } from "./provider.ts";
import type { ScriptInput } from "./scripted/script.ts";
import type { WireOptions } from "./wire/wire-model.ts";

export const SECRET = "sk-test-0123456789abcdefghij";

/** Options for opening a model of any wire format in a test. */
export function testOptions(url: string, more: Partial<WireOptions> = {}): WireOptions {
  return {
    provider: "lab",
    name: "test-model",
    baseUrl: `${url}/v1`,
    addressKey: "model.base_url",
    apiKey: SECRET,
    keyHint: undefined,
    headers: {},
    requestOverrides: {},
    timeouts: { staleMs: 180_000, requestMs: 900_000 },
    contextTokens: 1000,
    price: undefined,
    http: openHttpClient({ proxy: {} }),
    clock: systemClock,
    ...more,
  };
}

const ANSWER = { text: "Some text.", tools: [{ name: "terminal", input: { command: "ls" } }], chunk: 3 };

/** The contract about failures that every HTTP format passes, tested against a misbehaving server. */
export function wireContract(
  open: (options: WireOptions) => Model,
  format: {
    /** The number of events before the first piece of text; `beforeInput`: before the first piece of a call's input. */
    readonly beforeText: number;
    readonly beforeInput: number;
    readonly errorEvent: unknown;
    /** The reason why calls with incomplete or invalid input are not tested. */
    readonly noRawInput?: string;
  },
): void {
  async function openLab(wrong: Misbehaviour | undefined, script: ScriptInput, clock: Clock = systemClock) {
    const server = await startScriptedServer(script, { misbehave: () => wrong });
    const http = openHttpClient({ proxy: {} });
    const model = open(testOptions(server.url, { http, clock }));
    return {
      server,
      model,
      async [Symbol.asyncDispose]() {
        await http[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  }
  async function failureOf(wrong: Misbehaviour | undefined, script: ScriptInput = { answers: [ANSWER] }) {
    await using lab = await openLab(wrong, script);
    const last = lastOf(await collect(lab.model.stream(ask("hi"), createTestSignal())));
    if (last.type !== "failed") throw new Error("the request did not fail");
    return last.failure;
  }

  it.each(["v1?api-version=2024-10-21", "v1/?api-version=2024-10-21"])(
    "the query of the address %s follows the path of the request",
    async (path) => {
      await using server = await startScriptedServer({ answers: [ANSWER] });
      const model = open(testOptions(server.url, { baseUrl: `${server.url}/${path}` }));
      await collect(model.stream(ask("hi"), createTestSignal()));
      expect(server.requests[0]?.path).toMatch(
        /^\/(?:v1\/(?:chat\/completions|messages|responses|models\/test-model:\w+)|api\/chat)\?api-version=2024-10-21(?:&alt=sse)?$/,
      );
    },
  );

  describe("answers other than a stream", () => {
    const json = (message: string, more: object = {}) => JSON.stringify({ error: { message, ...more } });
    it.each<[number, string, string, Record<string, string>, Partial<ModelFailure>]>([
      [400, json("bad"), "refused", {}, {}],
      [400, json("This model's maximum context length is 8192 tokens"), "too-long", {}, {}],
      [401, json(`Incorrect API key provided: ${SECRET}`), "auth", {}, {}],
      [402, json("Insufficient credits"), "quota", {}, {}],
      [403, json("no"), "auth", {}, {}],
      [404, json("no such model"), "not-found", {}, {}],
      [429, json("slow down"), "rate-limited", { "retry-after": "7" }, { retryAfterMs: 7000 }],
      [429, json("You have hit your usage limit"), "quota", {}, {}],
      [500, json("oops"), "unavailable", {}, {}],
      [529, json("overloaded"), "unavailable", {}, {}],
      [502, "<html><body>Bad gateway</body></html>", "unavailable", { "content-type": "text/html" }, {}],
      [200, "<!doctype html><p>Log in", "malformed", { "content-type": "text/html" }, {}],
      [200, '{"ok":true}', "malformed", {}, {}],
      [302, "", "not-found", { location: "http://127.0.0.1:9/elsewhere" }, {}],
    ])("%i with %s is %s", async (status, body, kind, headers, facts) => {
      const failure = await failureOf({ type: "answer", status, body, headers });
      expect(failure).toMatchObject({ kind, status, sawText: false, droppedTools: [], ...facts });
      expect(failure.message).toContain("lab");
      expect(failure.hint).not.toBe("");
      expect(JSON.stringify(failure)).not.toContain(SECRET);
      expect(failure.message).not.toContain("<");
    });
  });

  it("a missing server is reported as unreachable, with its name", async () => {
    const server = await startScriptedServer({ answers: [] });
    await server[Symbol.asyncDispose]();
    await using http = openHttpClient({ proxy: {} });
    const events = await collect(
      open(testOptions(server.url, { http })).stream(ask("hi"), createTestSignal()),
    );
    const last = lastOf(events);
    expect(last).toMatchObject({ failure: { kind: "unreachable" } });
    expect(last.type === "failed" && last.failure.message).toContain(new URL(server.url).host);
  });

  it("a key with a line break is neither sent nor shown", async () => {
    await using server = await startScriptedServer({ answers: [{ text: "Hi." }] });
    const apiKey = "sk-first-half-of-it\nsk-second-half-of-it";
    const events = await collect(
      open(testOptions(server.url, { apiKey })).stream(ask("hi"), createTestSignal()),
    );
    expect(lastOf(events)).toMatchObject({
      failure: { kind: "refused", hint: expect.stringContaining("line break") },
    });
    expect(JSON.stringify(events)).not.toContain("half-of-it");
    expect(server.requests).toHaveLength(0);
  });

  it.each(["end", "destroy"] as const)(
    "M7: an answer that ends in the middle of its text (%s) is cut, and its text counts as shown",
    async (how) => {
      const failure = await failureOf({ type: "cut", after: format.beforeText + 2, how });
      expect(failure).toMatchObject({ kind: "cut", sawText: true, droppedTools: [] });
    },
  );

  it.each(["end", "destroy"] as const)(
    "M7: a call that ends in the middle of its input (%s) is reported as dropped and is in no message",
    async (how) => {
      const failure = await failureOf({ type: "cut", after: format.beforeInput + 2, how });
      expect(failure).toMatchObject({ kind: "cut", sawText: true, droppedTools: ["terminal"] });
    },
  );

  it("an error event in the middle of the stream fails the request", async () => {
    const wrong = { type: "event", after: format.beforeText + 1, payload: format.errorEvent } as const;
    expect(await failureOf(wrong)).toMatchObject({ kind: "unavailable", sawText: true });
  });

  it("an error event instead of a stream fails the request", async () => {
    const wrong = { type: "event", after: 0, payload: format.errorEvent } as const;
    expect(await failureOf(wrong)).toMatchObject({ kind: "unavailable", sawText: false });
  });

  it("an event that is invalid in the format is malformed", async () => {
    const wrong = {
      type: "event",
      after: format.beforeText,
      payload: { choices: 5, type: 7, candidates: 5 },
    } as const;
    expect(await failureOf(wrong)).toMatchObject({ kind: "malformed" });
  });

  it("an event that is larger than any answer is malformed and not buffered", async () => {
    const wrong = { type: "event", after: format.beforeText, payload: "x".repeat(17 * 1024 * 1024) } as const;
    expect(await failureOf(wrong)).toMatchObject({ kind: "malformed" });
  });

  it("an answer without content is empty", async () => {
    expect(await failureOf(undefined, { answers: [{ finish: "stop" }] })).toMatchObject({ kind: "empty" });
  });

  it.skipIf(format.noRawInput)(
    "M7: an answer that is cut at its length limit keeps only complete calls",
    async () => {
      const tools = [
        { name: "terminal", input: { command: "ls" } },
        { name: "read_file", input: '{"path": "/etc/pa' },
        { name: "read_file", input: "" },
      ];
      await using lab = await openLab(undefined, { answers: [{ tools, finish: "length" }] });
      const events = await collect(lab.model.stream(ask("hi"), createTestSignal()));
      expect(lastOf(events)).toMatchObject({ type: "message-end", finish: "length" });
      expect(messageOf(events).parts).toMatchObject([{ tool: "terminal", input: '{"command":"ls"}' }]);
      expect(messageOf(events).parts).toHaveLength(1);
    },
  );

  it.skipIf(format.noRawInput)(
    "complete input that is not JSON is passed on unchanged and can be sent back",
    async () => {
      const answers = [{ tools: [{ name: "terminal", input: "{command: ls" }] }, { text: "Sorry." }];
      await using lab = await openLab(undefined, { answers });
      const message = messageOf(await collect(lab.model.stream(ask("hi"), createTestSignal())));
      const [call] = message.parts;
      if (call?.type !== "tool-call") throw new Error("no call");
      expect(call.input).toBe("{command: ls");
      const result = {
        role: "tool",
        callId: call.callId,
        tool: "terminal",
        text: "not JSON",
        failed: true,
      } as const;
      const next = await collect(lab.model.stream(ask("hi", message, result), createTestSignal()));
      expect(messageOf(next).parts).toMatchObject([{ text: "Sorry." }]);
      expect(JSON.stringify(lab.server.requests[1]?.body)).toContain("unparsable_input");
    },
  );

  describe("A6: a server that goes silent", () => {
    it.each([
      ["before its headers", "nothing", false],
      ["after its headers", "headers", false],
      ["after some text", format.beforeText + 2, true],
    ] as const)(
      "a server that goes silent %s is abandoned after the stale timeout, not before",
      async (_, after, sawText) => {
        const clock = new TurnableClock();
        await using lab = await openLab({ type: "hang", after }, { answers: [ANSWER] }, clock);
        const events: ModelEvent[] = [];
        let ended = false;
        const collecting = (async () => {
          for await (const event of lab.model.stream(ask("hi"), createTestSignal())) events.push(event);
          ended = true;
        })();
        await pollUntil(() => lab.server.requests.length === 1 && clock.sleeping > 0);
        await pollUntil(() => ofType(events, "text-delta").length > 0 || !sawText);
        await delay(200); // until everything written before the silence is read
        await clock.advance(179_000);
        await delay(50);
        expect(ended).toBe(false);
        // If the text was read only now, the silence has just started.
        for (let seconds = 0; !ended && seconds < 200; seconds += 2) {
          await clock.advance(2_000);
          await delay(5);
        }
        await collecting;
        expect(lastOf(events)).toMatchObject({ failure: { kind: "stalled", sawText } });
        await pollUntil(() => lab.server.requests[0]?.closedEarly === true);
      },
    );
  });

  it("A6: an answer that never ends is abandoned after the request timeout", async () => {
    const clock = new TurnableClock();
    const endless = { text: "word ".repeat(100_000), chunk: 5, delay_ms: 1 };
    await using lab = await openLab(undefined, { answers: [endless] }, clock);
    const collecting = collect(lab.model.stream(ask("hi"), createTestSignal()));
    await pollUntil(() => lab.server.requests.length === 1 && clock.sleeping > 0);
    for (let minute = 0; minute <= 15; minute++) {
      await clock.advance(60_000);
      await delay(30);
    }
    const last = lastOf(await collecting);
    expect(last).toMatchObject({ failure: { kind: "stalled" } });
    expect(last.type === "failed" && last.failure.message).toContain("did not finish");
  });

  it.each(["nothing", "headers", format.beforeText + 1] as const)(
    "M7: an abort while the server is silent (after %s) closes the connection",
    async (after) => {
      await using lab = await openLab({ type: "hang", after }, { answers: [ANSWER] });
      const stop = new AbortController();
      const collecting = collect(lab.model.stream(ask("hi"), stop.signal));
      await pollUntil(() => lab.server.requests.length === 1);
      await delay(50);
      stop.abort(new Error("enough"));
      expect(lastOf(await collecting)).toMatchObject({ failure: { kind: "aborted" } });
      await pollUntil(() => lab.server.requests[0]?.closedEarly === true);
    },
  );

  it("closes the connection when the consumer stops reading", async () => {
    await using lab = await openLab(undefined, {
      answers: [{ text: "word ".repeat(5_000), chunk: 5, delay_ms: 2 }],
    });
    for await (const event of lab.model.stream(ask("hi"), createTestSignal()))
      if (event.type === "text-delta") break;
    await pollUntil(() => lab.server.requests[0]?.closedEarly === true);
  });

  it("reuses its connection, even if the server ends an answer late", async () => {
    await using lab = await openLab({ type: "linger", ms: 50 }, { answers: [{ text: "Hi.", times: 9 }] });
    for (let round = 0; round < 3; round++) {
      messageOf(await collect(lab.model.stream(ask("hi"), createTestSignal())));
      await pollUntil(() => lab.server.requests[round]?.answeredAt !== undefined);
      await delay(200); // as long as a pause of the user or a running tool
    }
    expect(lab.server.requests.map(({ connection }) => connection)).toEqual([1, 1, 1]);
    expect(lab.server.requests.map(({ closedEarly }) => closedEarly)).toEqual([false, false, false]);
  });

  it("ids that a server uses twice are made unique in the conversation", async () => {
    const answers = [{ tools: [{ name: "terminal", input: {} }], times: 2 }];
    await using first = await openLab(undefined, { answers });
    await using second = await openLab(undefined, { answers }); // its ids start again from the first one
    const message = messageOf(await collect(first.model.stream(ask("hi"), createTestSignal())));
    const [call] = message.parts;
    if (call?.type !== "tool-call") throw new Error("no call");
    const result = {
      role: "tool",
      callId: call.callId,
      tool: "terminal",
      text: "ok",
      failed: false,
    } as const;
    const events = await collect(second.model.stream(ask("hi", message, result), createTestSignal()));
    const [again] = messageOf(events).parts;
    if (again?.type !== "tool-call") throw new Error("no call");
    expect(again.callId).not.toBe(call.callId);
    expect(ofType(events, "tool-call-start")).toMatchObject([{ callId: again.callId }]);
  });
}

/** Polls a condition, because the server notices a closed connection later. */
export async function pollUntil(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 150_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error("the condition never became true");
    await delay(5);
  }
}
