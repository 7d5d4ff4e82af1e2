import { z } from "zod";
import { defineTool, failed, okJson } from "./define-tool.ts";
import type { Tool } from "./tool.ts";
import type { ToolParts } from "./tool-parts.ts";

const choice = z
  .union([z.string(), z.record(z.string(), z.unknown())])
  .transform((value) =>
    typeof value === "string"
      ? value
      : String(value["label"] ?? value["value"] ?? value["text"] ?? JSON.stringify(value)),
  );

const input = z.strictObject({
  question: z.string().min(1),
  choices: z
    .array(choice)
    .max(4)
    .default([])
    .describe("The recommended one first; another answer is always possible"),
  multi_select: z.boolean().default(false),
});

const RECOMMENDED = /\s*\(recommended\)\s*$/i;

/**
 * Asks the user; offered only on surfaces that can ask. Like an approval, the question is stored before the call starts, so
 * that it survives the process; the call only returns the answer.
 */
export function createClarify(findAnswer: NonNullable<ToolParts["findAnswer"]>): Tool {
  return defineTool({
    name: "clarify",
    toolset: "clarify",
    description:
      "Ask the user, only when the answer changes what you do and you cannot find it out yourself.",
    input,
    mutates: false,
    exclusive: true,
    effectsOf: ({ question, choices, multi_select }) => ({
      asks: {
        question,
        choices: choices.map((text) => text.replace(RECOMMENDED, "")),
        several: multi_select,
      },
    }),
    async run({ question, multi_select }, { callId }) {
      const answer = findAnswer(callId);
      if (answer === undefined)
        return failed("The user did not answer in time. Use your best judgement and say what you assumed.");
      return okJson({ question, answer: multi_select ? answer.split("\n") : answer });
    },
  });
}
