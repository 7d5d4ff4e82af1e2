import { afterAll, beforeAll, expect, it } from "vitest";
import { openLocalPlace, openToolLab, type ToolPlace } from "../../test/support/tool-lab.ts";
import type { Ask } from "./workspace.ts";

let place: ToolPlace;
beforeAll(async () => {
  place = await openLocalPlace();
});
afterAll(() => place[Symbol.asyncDispose]());

/** Answers, and notes what was asked. */
function person(answer: readonly string[] | undefined) {
  const asked: { question: string; choices: readonly string[]; several: boolean }[] = [];
  const ask: Ask = async (question, choices, { several }) => {
    asked.push({ question, choices, several });
    return answer;
  };
  return { ask, asked };
}

it("C3: the person's choice comes back without the word that recommends it", async () => {
  const { ask, asked } = person(["red"]);
  await using own = await openToolLab(place, { ask });
  const choices = ["red (Recommended)", { label: "blue" }, { value: 5 }, { other: true }];
  const { failed, text } = await own.call("clarify", { question: "Which?", choices });
  expect({ failed, text }).toEqual({ failed: false, text: '{"question":"Which?","answer":"red"}' });
  expect(asked).toEqual([
    { question: "Which?", choices: ["red", "blue", "5", '{"other":true}'], several: false },
  ]);
});

it("C3: several answers come as a list where several are allowed", async () => {
  const { ask, asked } = person(["red", "blue"]);
  await using own = await openToolLab(place, { ask });
  const result = await own.call("clarify", {
    question: "Which?",
    choices: ["red", "blue"],
    multi_select: true,
  });
  expect(result.json()["answer"]).toEqual(["red", "blue"]);
  expect(asked[0]?.several).toBe(true);
});

it("C3: silence means to use one's own judgement", async () => {
  await using own = await openToolLab(place, { ask: person(undefined).ask });
  const { text } = await own.call("clarify", { question: "Which?" });
  expect(text).toContain("best judgement");
});

it("C3: there are at most four choices", async () => {
  const { ask, asked } = person(["1"]);
  await using own = await openToolLab(place, { ask });
  expect(await own.call("clarify", { question: "?", choices: ["1", "2", "3", "4", "5"] })).toMatchObject({
    failed: true,
  });
  expect(asked).toEqual([]);
});

it("C3: where nobody can be asked there is no such tool", async () => {
  await using own = await openToolLab(place);
  expect(own.tools.has("clarify")).toBe(false);
});
