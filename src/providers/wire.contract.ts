import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Misbehaviour, startScriptedServer } from "../../test/support/scripted-server.ts";
import { TurnableClock } from "../../test/support/turnable-clock.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { createHttpClient } from "../lib/http.ts";
import { ask, collect, lastOf, messageOf, ofType, soon } from "./provider.contract.ts";
import type { Model, ModelEvent, ModelFailure } from "./provider.ts";
import type { ScriptInput } from "./scripted/script.ts";
import type { WireOptions } from "./wire/wire-model.ts";

export const SECRET = "sk-test-0123456789abcdefghij";

/** What a wire test hands to the `open` of a format. */
export function testOptions(url: string, more: Partial<WireOptions> = {}): WireOptions {
  return {
    provider: "lab",
    name: "test-model",
    baseUrl: `${url}/v1`,
    addressKey: "model.base_url",
    apiKey: SECRET,
    keyAdvice: undefined,
    headers: {},
    requestOverrides: {},
    timeouts: { staleMs: 180_000, requestMs: 900_000 },
    contextTokens: 1000,
    price: undefined,
    http: createHttpClient({ proxy: {} }),
    clock: systemClock,
    ...more,
  };
}

const ANSWER = { text: "Some text.", tools: [{ name: "terminal", input: { command: "ls" } }], chunk: 3 };

/** What every format that goes over HTTP promises about failures; against a server that can do wrong. */
export function wireContract(
  open: (options: WireOptions) => Model,
  format: {
    /** How many events come before the first piece of text, and of a call's input. */
    readonly beforeText: number;
    readonly beforeInput: number;
    readonly errorEvent: unknown;
  },
): void {
  async function openLab(wrong: Misbehaviour | undefined, script: ScriptInput, clock: Clock = systemClock) {
    const server = await startScriptedServer(script, { misbehave: () => wrong });
    const http = createHttpClient({ proxy: {} });
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
    const last = lastOf(await collect(lab.model.stream(ask("hi"), soon())));
    if (last.type !== "failed") throw new Error("the request did not fail");
    return last.failure;
  }

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

  it("a server that is not there is unreachable, and is named", async () => {
    const server = await startScriptedServer({ answers: [] });
    await server[Symbol.asyncDispose]();
    await using http = createHttpClient({ proxy: {} });
    const events = await collect(open(testOptions(server.url, { http })).stream(ask("hi"), soon()));
    const last = lastOf(events);
    expect(last).toMatchObject({ failure: { kind: "unreachable" } });
    expect(last.type === "failed" && last.failure.message).toContain(new URL(server.url).host);
  });

  it("a key with a line break in it is not sent, and not shown either", async () => {
    await using server = await startScriptedServer({ answers: [{ text: "Hi." }] });
    const apiKey = "sk-first-half-of-it\nsk-second-half-of-it";
    const events = await collect(open(testOptions(server.url, { apiKey })).stream(ask("hi"), soon()));
    expect(lastOf(events)).toMatchObject({
      failure: { kind: "refused", hint: expect.stringContaining("line break") },
    });
    expect(JSON.stringify(events)).not.toContain("half-of-it");
    expect(server.requests).toHaveLength(0);
  });

  it.each(["end", "destroy"] as const)("M7: text that stops (%s) is cut, and text was seen", async (how) => {
    const failure = await failureOf({ type: "cut", after: format.beforeText + 2, how });
    expect(failure).toMatchObject({ kind: "cut", sawText: true, droppedTools: [] });
  });

  it.each(["end", "destroy"] as const)(
    "M7: a call that stops (%s) is dropped by name and in no message",
    async (how) => {
      const failure = await failureOf({ type: "cut", after: format.beforeInput + 2, how });
      expect(failure).toMatchObject({ kind: "cut", sawText: true, droppedTools: ["terminal"] });
    },
  );

  it("an error event in the middle of the stream is the failure", async () => {
    const wrong = { type: "event", after: format.beforeText + 1, payload: format.errorEvent } as const;
    expect(await failureOf(wrong)).toMatchObject({ kind: "unavailable", sawText: true });
  });

  it("an error event in place of the stream is the failure", async () => {
    const wrong = { type: "event", after: 0, payload: format.errorEvent } as const;
    expect(await failureOf(wrong)).toMatchObject({ kind: "unavailable", sawText: false });
  });

  it("an event that is not what the format allows is malformed", async () => {
    const wrong = { type: "event", after: format.beforeText, payload: { choices: 5, type: 7 } } as const;
    expect(await failureOf(wrong)).toMatchObject({ kind: "malformed" });
  });

  it("an event that is larger than any answer is malformed, and is not kept", async () => {
    const wrong = { type: "event", after: format.beforeText, payload: "x".repeat(17 * 1024 * 1024) } as const;
    expect(await failureOf(wrong)).toMatchObject({ kind: "malformed" });
  });

  it("an answer without anything in it is empty", async () => {
    expect(await failureOf(undefined, { answers: [{ finish: "stop" }] })).toMatchObject({ kind: "empty" });
  });

  it("M7: of an answer cut at its length limit only whole calls are kept", async () => {
    const tools = [
      { name: "terminal", input: { command: "ls" } },
      { name: "read_file", input: '{"path": "/etc/pa' },
      { name: "read_file", input: "" },
    ];
    await using lab = await openLab(undefined, { answers: [{ tools, finish: "length" }] });
    const events = await collect(lab.model.stream(ask("hi"), soon()));
    expect(lastOf(events)).toMatchObject({ type: "message-end", finish: "length" });
    expect(messageOf(events).parts).toMatchObject([{ tool: "terminal", input: '{"command":"ls"}' }]);
    expect(messageOf(events).parts).toHaveLength(1);
  });

  it("input that came whole but is not JSON is passed on as it is, and can be sent back", async () => {
    const answers = [{ tools: [{ name: "terminal", input: "{command: ls" }] }, { text: "Sorry." }];
    await using lab = await openLab(undefined, { answers });
    const message = messageOf(await collect(lab.model.stream(ask("hi"), soon())));
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
    const next = await collect(lab.model.stream(ask("hi", message, result), soon()));
    expect(messageOf(next).parts).toMatchObject([{ text: "Sorry." }]);
    expect(JSON.stringify(lab.server.requests[1]?.body)).toContain("unparsable_input");
  });

  describe("A6: a server that goes silent", () => {
    it.each([
      ["before its headers", "nothing", false],
      ["after its headers", "headers", false],
      ["after some text", format.beforeText + 2, true],
    ] as const)("%s is given up after the stale time-out, not before", async (_, after, sawText) => {
      const clock = new TurnableClock();
      await using lab = await openLab({ type: "hang", after }, { answers: [ANSWER] }, clock);
      const events: ModelEvent[] = [];
      let ended = false;
      const collecting = (async () => {
        for await (const event of lab.model.stream(ask("hi"), soon())) events.push(event);
        ended = true;
      })();
      await until(() => lab.server.requests.length === 1 && clock.sleeping > 0);
      await until(() => ofType(events, "text-delta").length > 0 || !sawText);
      await delay(200); // what was written before the silence is read by then
      await clock.advance(179_000);
      await delay(50);
      expect(ended).toBe(false);
      // If it was read only now, the silence has only begun.
      for (let seconds = 0; !ended && seconds < 200; seconds += 2) {
        await clock.advance(2_000);
        await delay(5);
      }
      await collecting;
      expect(lastOf(events)).toMatchObject({ failure: { kind: "stalled", sawText } });
      await until(() => lab.server.requests[0]?.closedEarly === true);
    });
  });

  it("A6: an answer that never ends is given up after the time for a request", async () => {
    const clock = new TurnableClock();
    const endless = { text: "word ".repeat(100_000), chunk: 5, delay_ms: 1 };
    await using lab = await openLab(undefined, { answers: [endless] }, clock);
    const collecting = collect(lab.model.stream(ask("hi"), soon()));
    await until(() => lab.server.requests.length === 1 && clock.sleeping > 0);
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
      await until(() => lab.server.requests.length === 1);
      await delay(50);
      stop.abort(new Error("enough"));
      expect(lastOf(await collecting)).toMatchObject({ failure: { kind: "aborted" } });
      await until(() => lab.server.requests[0]?.closedEarly === true);
    },
  );

  it("closes the connection when nobody listens any more", async () => {
    await using lab = await openLab(undefined, {
      answers: [{ text: "word ".repeat(5_000), chunk: 5, delay_ms: 2 }],
    });
    for await (const event of lab.model.stream(ask("hi"), soon())) if (event.type === "text-delta") break;
    await until(() => lab.server.requests[0]?.closedEarly === true);
  });

  it("uses its connection again, also when the server ends an answer late", async () => {
    await using lab = await openLab({ type: "linger", ms: 50 }, { answers: [{ text: "Hi.", times: 9 }] });
    for (let round = 0; round < 3; round++) {
      messageOf(await collect(lab.model.stream(ask("hi"), soon())));
      await delay(200); // a person reads, or a tool runs
    }
    expect(lab.server.requests.map(({ connection }) => connection)).toEqual([1, 1, 1]);
    expect(lab.server.requests.map(({ closedEarly }) => closedEarly)).toEqual([false, false, false]);
  });

  it("ids that a server gives twice are made unique in the conversation", async () => {
    const answers = [{ tools: [{ name: "terminal", input: {} }], times: 2 }];
    await using first = await openLab(undefined, { answers });
    await using second = await openLab(undefined, { answers }); // it counts from the beginning again
    const message = messageOf(await collect(first.model.stream(ask("hi"), soon())));
    const [call] = message.parts;
    if (call?.type !== "tool-call") throw new Error("no call");
    const result = {
      role: "tool",
      callId: call.callId,
      tool: "terminal",
      text: "ok",
      failed: false,
    } as const;
    const events = await collect(second.model.stream(ask("hi", message, result), soon()));
    const [again] = messageOf(events).parts;
    if (again?.type !== "tool-call") throw new Error("no call");
    expect(again.callId).not.toBe(call.callId);
    expect(ofType(events, "tool-call-start")).toMatchObject([{ callId: again.callId }]);
  });
}

/** Polls, because the other side of a connection notices in its own time. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 150_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error("it never came to it");
    await delay(5);
  }
}
