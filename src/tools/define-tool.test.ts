import { expect, it } from "vitest";
import { z } from "zod";
import { AppError } from "../lib/errors.ts";
import { defineTool, ok } from "./define-tool.ts";
import type { ToolResult } from "./tool.ts";

const input = z.strictObject({
  text: z.string().min(1),
  count: z.int().min(1).max(50).default(1),
  on: z.boolean().default(false),
  list: z.array(z.strictObject({ n: z.int() })).default([]),
});

function tool(
  run: (call: z.infer<typeof input>) => Promise<ToolResult> = async (call) => ok(JSON.stringify(call)),
) {
  return defineTool({ name: "t", toolset: "x", description: "d", input, mutates: false, run });
}

const context = { callId: "c", signal: new AbortController().signal, onProgress: () => undefined };

it.each([
  ['{"text":"a","count":"5"}', { text: "a", count: 5, on: false, list: [] }],
  ['{"text":"a","on":"true"}', { text: "a", count: 1, on: true, list: [] }],
  ['{"text":"a","list":"[{\\"n\\":1}]"}', { text: "a", count: 1, on: false, list: [{ n: 1 }] }],
  ['{"text":"a","list":[{"n":"7"}]}', { text: "a", count: 1, on: false, list: [{ n: 7 }] }],
  ['{"text":"5"}', { text: "5", count: 1, on: false, list: [] }],
  ['{"text":"a","count":null,"on":null}', { text: "a", count: 1, on: false, list: [] }],
  ['{"arguments":{"text":"a"}}', { text: "a", count: 1, on: false, list: [] }],
  ['"{\\"text\\":\\"a\\"}"', { text: "a", count: 1, on: false, list: [] }],
  ['```json\n{"text": "a"}\n```', { text: "a", count: 1, on: false, list: [] }],
  ['{"text": "a"}<|call|>', { text: "a", count: 1, on: false, list: [] }],
  ['{}{"text": "a"}', { text: "a", count: 1, on: false, list: [] }],
  ["{'text': 'a', 'on': True, 'count': None,}", { text: "a", count: 1, on: true, list: [] }],
  ['{text: "a", // why\n list: [{n: 1,}]}', { text: "a", count: 1, on: false, list: [{ n: 1 }] }],
  ['{"text": "a\nb"}', { text: "a\nb", count: 1, on: false, list: [] }],
])("%s is parsed as intended", async (text, expected) => {
  expect(JSON.parse((await tool().call(text, context)).text)).toEqual(expected);
});

it.each(['"where":""', '"kind":""', '"count":0', '"count":"0"', '"where":"","kind":"","count":0'])(
  "an optional argument with an empty value counts as omitted: %s",
  async (filled) => {
    const optional = input.extend({
      where: z.string().min(1).optional(),
      kind: z.enum(["a", "b"]).optional(),
    });
    const run = async (call: object) => ok(JSON.stringify(call));
    const filling = defineTool({
      name: "t",
      toolset: "x",
      description: "d",
      input: optional,
      mutates: false,
      run,
    });
    const { text } = await filling.call(`{"text":"a",${filled}}`, context);
    expect(JSON.parse(text)).toEqual({ text: "a", count: 1, on: false, list: [] });
  },
);

it("a number above the maximum of an optional argument is lowered to the maximum, with a note for the model", async () => {
  const { text, failed } = await tool().call('{"text":"a","count":5000}', context);
  const [answer = "", note] = text.split("\n\n");
  expect([failed, JSON.parse(answer)]).toEqual([false, { text: "a", count: 50, on: false, list: [] }]);
  expect(note).toBe('[t accepts at most 50 for "count", so 50 was used.]');
});

it.each([
  '{"text":5}',
  '{"text":"a","count":"five"}',
  '{"text":"a","count":"5.5"}',
  '{"text":"a","count":"[1]"}',
  '{"text":"a","on":"yes"}',
  '{"text":"a","on":1}',
  '{"text":"a","list":"1"}',
  '{"text":""}',
  '{"text":null}',
  // Truncated input is not completed, even if it ends with a brace.
  '{"text":"rm -r build/old',
  '{"text":"function f() { }',
  "{'text':'function f() { }",
  '{"text":"a","list":[{"n":1}',
  // A repair that would produce other arguments is refused.
  '{"text":"say "hi", "count" or so"}',
])("%s is refused without guessing", async (text) => {
  expect(await tool().call(text, context)).toMatchObject({ failed: true });
});

it("an unknown argument is ignored and named; a model's remarks about its call are ignored silently", async () => {
  const { text, failed } = await tool().call(
    '{"text":"a","colour":"red","description":"says a","__proto__":{"count":5}}',
    context,
  );
  const [answer = "", note] = text.split("\n\n");
  expect([failed, JSON.parse(answer)]).toEqual([false, { text: "a", count: 1, on: false, list: [] }]);
  expect(note).toBe(
    '[t has no argument "colour", "__proto__", so it was ignored. Its arguments are: text, count, on, list.]',
  );
});

it("A4: arguments that are nested too deeply are refused with an explanation, wherever they occur", async () => {
  const deep = "[".repeat(200_000) + "]".repeat(200_000);
  for (const text of [
    `{"text":${deep}}`,
    `{"list":${deep}}`,
    `{"other":${deep}}`,
    `{"text":"a","list":'${deep}'}`,
  ])
    expect(await tool().call(text, context), text.slice(0, 20)).toMatchObject({ failed: true });
  expect((await tool().call(`{"text":${deep}}`, context)).text).toContain("nested too deeply");
});

it("A4: a known failure is returned with its hint, any other error is thrown", async () => {
  const fails = tool(async () => {
    throw new AppError("job-unreachable", "It does not answer.", { hint: "Look again." });
  });
  expect(await fails.call('{"text":"a"}', context)).toEqual({
    failed: true,
    text: "It does not answer. Look again.",
  });
  const buggy = tool(async () => {
    throw new TypeError("x is not a function");
  });
  await expect(buggy.call('{"text":"a"}', context)).rejects.toThrow("x is not a function");
});

it("M2: the schema contains types, choices and bounds, but no constraint that a refusal explains anyway", () => {
  expect(tool().inputSchema).toEqual({
    type: "object",
    properties: {
      text: { type: "string" },
      count: { type: "integer", minimum: 1, maximum: 50, default: 1 },
      on: { type: "boolean" },
      list: {
        type: "array",
        items: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      },
    },
    required: ["text"],
  });
});

it("a refusal of a huge argument is short", async () => {
  const long = "x".repeat(1_000_000);
  for (const text of [`{"text":"a","${long}":1}`, `{"text":"${long}`])
    expect((await tool().call(text, context)).text.length).toBeLessThan(1_000);
});
