import fc from "fast-check";
import { expect, test } from "vitest";
import { scale } from "../../test/support/scale.ts";
import {
  assistant,
  NEW_SESSION,
  requestSent,
  toolEnd,
  turnEnd,
} from "../../test/support/session-fixtures.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import type { AgentEvent, ToolOutcome } from "../agent/events.ts";
import { readOwnIdentity } from "../lib/process/process-identity.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import type { AssistantMessage, Message, UserMessage } from "../providers/message.ts";
import { openSessionStore } from "./session-store.ts";

const text = fc.string({ unit: "binary", maxLength: 30 });
const vendor = fc.option(
  fc
    .dictionary(text, fc.jsonValue({ maxDepth: 2 }))
    .map((value) => JSON.parse(JSON.stringify(value)) as object),
  { nil: undefined },
);

interface Step {
  readonly said: string;
  readonly reasoning: string;
  readonly vendor: object | undefined;
  readonly calls: readonly { input: string; outcome: ToolOutcome; result: string }[];
  /** Sort keys for the order in which results arrive. */
  readonly order: readonly number[];
  readonly steer: string | undefined;
  readonly prefix: readonly string[];
}

const step: fc.Arbitrary<Step> = fc.record({
  said: text,
  reasoning: text,
  vendor,
  calls: fc.array(
    fc.record({
      input: text,
      outcome: fc.constantFrom<ToolOutcome>("ok", "failed", "stopped", "unknown", "not-run"),
      result: text,
    }),
    { maxLength: 4 },
  ),
  order: fc.array(fc.nat(), { minLength: 4, maxLength: 4 }),
  steer: fc.option(text, { nil: undefined }),
  prefix: fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 5 }),
});
const turns = fc.array(
  fc.record({ question: text, steps: fc.array(step, { maxLength: 3 }), ended: fc.boolean() }),
  {
    minLength: 1,
    maxLength: 4,
  },
);

/** Builds events and, by a simple reference model, the expected conversation. */
function play(script: typeof turns extends fc.Arbitrary<infer Value> ? Value : never) {
  const events: AgentEvent[] = [];
  const messages: Message[] = [{ role: "system", text: NEW_SESSION.systemPrompt }];
  let prefix: readonly string[] = [];
  let calls = 0;
  for (const [number, { question, steps }] of script.entries()) {
    const message: UserMessage = { role: "user", parts: [{ type: "text", text: question }] };
    events.push({ type: "turn-start", turnId: `t${number}`, message });
    messages.push(message);
    for (const step of steps) {
      const parts = [
        { type: "reasoning", text: step.reasoning, ...(step.vendor && { vendor: step.vendor }) },
        { type: "text", text: step.said },
        ...step.calls.map(({ input }) => ({
          type: "tool-call",
          callId: `c${calls++}`,
          tool: "terminal",
          input,
        })),
      ] as AssistantMessage["parts"];
      const answer: AssistantMessage = { role: "assistant", parts };
      const asked = parts.filter((part) => part.type === "tool-call");
      const results = asked.map((part, index) => ({
        part,
        ...step.calls[index],
        order: step.order[index] ?? 0,
      }));
      prefix = step.prefix;
      events.push(requestSent(prefix), assistant("", [], { message: answer }));
      if (asked.length > 0) events.push({ type: "tools-start", calls: asked });
      for (const { part, result, outcome } of results.toSorted((a, b) => a.order - b.order))
        events.push(toolEnd(part.callId, result ?? "", outcome));
      messages.push(answer);
      for (const { part, result, outcome } of results) {
        const failed = outcome !== "ok";
        messages.push({ role: "tool", callId: part.callId, tool: "terminal", text: result ?? "", failed });
      }
      if (step.steer !== undefined) {
        const steer: UserMessage = {
          role: "user",
          parts: [{ type: "text", text: step.steer }],
          kind: "steer",
        };
        events.push({ type: "steer", message: steer });
        messages.push(steer);
      }
    }
    if (number < script.length - 1 || script[number]?.ended) events.push(turnEnd(`t${number}`));
  }
  return { events, messages, prefix, open: script.at(-1)?.ended === false };
}

test("any valid conversation loads as a reference model predicts, from the same and from another store", async () => {
  await using folder = await tempFolder();
  const path = folder.file("s.sqlite");
  using store = await openSessionStore(path, {}, neverAborted);
  using other = await openSessionStore(path, {}, neverAborted);
  const own = await readOwnIdentity(neverAborted);
  await fc.assert(
    fc.asyncProperty(turns, async (script) => {
      const { events, messages, prefix, open } = play(script);
      const draft = store.createSession(NEW_SESSION);
      await using turn = await store.acquireTurn(draft, own, neverAborted);
      for (const event of events) await turn.record(event, neverAborted);
      for (const reader of [store, other]) {
        const loaded = reader.loadSession(draft.id);
        expect(JSON.stringify(loaded.messages)).toBe(JSON.stringify(messages));
        expect(loaded.prefix).toEqual(prefix);
        expect(loaded.openTurn !== undefined).toBe(open);
      }
    }),
    { numRuns: scale.sequences },
  );
  expect(await store.checkIntegrity()).toEqual([]);
});
