import { afterAll, beforeAll, expect, it } from "vitest";
import { openLocalTestEnvironment, openToolLab, type TestEnvironment } from "../../test/support/tool-lab.ts";

let testEnvironment: TestEnvironment;
beforeAll(async () => {
  testEnvironment = await openLocalTestEnvironment();
});
afterAll(() => testEnvironment[Symbol.asyncDispose]());

const openLab = (answer: string | undefined) => openToolLab(testEnvironment, { findAnswer: () => answer });

it("C3: a call asks its question with plain choices, and returns the answer", async () => {
  await using own = await openLab("red");
  const choices = ["red (Recommended)", { label: "blue" }, { value: 5 }, { other: true }];
  const input = { question: "Which?", choices };
  expect(own.tools.get("clarify")?.effectsOf?.(JSON.stringify(input))).toEqual({
    asks: { question: "Which?", choices: ["red", "blue", "5", '{"other":true}'], several: false },
  });
  const { failed, text } = await own.call("clarify", input);
  expect({ failed, text }).toEqual({ failed: false, text: '{"question":"Which?","answer":"red"}' });
});

it("C3: several answers are returned as a list if several are allowed", async () => {
  await using own = await openLab("red\nblue");
  const input = { question: "Which?", choices: ["red", "blue"], multi_select: true };
  expect((await own.call("clarify", input)).json()["answer"]).toEqual(["red", "blue"]);
});

it("C3: without an answer the model is asked to use its own judgement", async () => {
  await using own = await openLab(undefined);
  const { text } = await own.call("clarify", { question: "Which?" });
  expect(text).toContain("best judgement");
});

it("C3: a call with more than four choices is refused and asks nothing", async () => {
  await using own = await openLab("1");
  const input = { question: "?", choices: ["1", "2", "3", "4", "5"] };
  expect(own.tools.get("clarify")?.effectsOf?.(JSON.stringify(input))).not.toHaveProperty("asks");
  expect(await own.call("clarify", input)).toMatchObject({ failed: true });
});

it("C3: a surface that cannot ask the user does not offer the tool", async () => {
  await using own = await openToolLab(testEnvironment);
  expect(own.tools.has("clarify")).toBe(false);
});
