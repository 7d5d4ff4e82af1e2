import { expect, it } from "vitest";
import type { ReasoningEffort } from "../provider.ts";
import { thinkingConfigOf } from "./gemini-thinking.ts";

it.each<[string, ReasoningEffort | undefined, object | undefined]>([
  ["gemini-2.5-flash", undefined, { includeThoughts: true }],
  ["gemini-2.5-flash", "none", { includeThoughts: false, thinkingBudget: 0 }],
  ["gemini-2.5-pro", "none", { includeThoughts: true, thinkingBudget: 128 }],
  ["gemini-2.5-flash-lite-preview-09-2025", "ultra", { includeThoughts: true, thinkingBudget: 24_576 }],
  ["gemini-3-pro-preview", "medium", { includeThoughts: true, thinkingLevel: "high" }],
  ["gemini-3.1-pro-preview", "medium", { includeThoughts: true, thinkingLevel: "medium" }],
  ["gemini-3-pro-preview", "none", { includeThoughts: true, thinkingLevel: "low" }],
  ["models/gemini-3-flash", "none", { includeThoughts: true, thinkingLevel: "minimal" }],
  ["gemini-flash-latest", "low", { includeThoughts: true, thinkingLevel: "low" }],
  ["gemini-2.5-flash-image", "high", undefined],
  ["gemini-2.0-flash", "high", undefined],
  ["gemma-3-27b-it", "high", undefined],
])("%s with the effort %s gets the thinking fields that it accepts", (model, effort, fields) => {
  expect(thinkingConfigOf(model, effort)).toEqual(fields);
});
