import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { expect, it } from "vitest";
import { createSystemPrompt, type PromptFacts } from "../../agent/prompt/system-prompt.ts";
import { measurePrompt } from "./measure-prompt.ts";
import { createToolDefinitions, describeTools } from "./prompt-facts.ts";

const tools = describeTools({
  limits: { timeout: 180, maxForegroundTimeout: 600 },
  canAsk: true,
  canSee: true,
  disabled: [],
});

const facts: PromptFacts = {
  identity: undefined,
  tools: [...tools.keys()],
  environment: "Commands run on the user's own machine, starting in /home/person/projects/thing.",
  project: undefined,
  date: "2026-01-31",
  takesNotes: true,
  surface:
    "This is a single run: nobody can answer questions, so decide for yourself and say what you assumed.",
};

it("M2: the prompt and the tools of a first request are within their budgets", () => {
  const system = countTokens(createSystemPrompt(facts));
  const offered = createToolDefinitions(tools).map(({ name, description, inputSchema: parameters }) => ({
    type: "function",
    function: { name, description, parameters },
  }));
  expect(tools.size).toBe(10);
  expect(system).toBeLessThanOrEqual(3_000);
  expect(system + countTokens(JSON.stringify(offered))).toBeLessThanOrEqual(6_000);
});

it("M2: the token counts of the parts add up to the total, apart from separators", () => {
  const { parts, tokens } = measurePrompt(facts, tools, countTokens);
  const whole = countTokens(createSystemPrompt(facts));
  const prompt = parts.filter(({ kind }) => kind === "prompt").reduce((sum, part) => sum + part.tokens, 0);
  expect(Math.abs(prompt - whole)).toBeLessThan(20);
  expect(parts.map((part) => part.tokens)).toEqual(parts.map((part) => part.tokens).sort((a, b) => b - a));
  expect(tokens).toBe(parts.reduce((sum, part) => sum + part.tokens, 0));
});
