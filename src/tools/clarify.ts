import { z } from "zod";
import { defineTool, failed, okJson } from "./define-tool.ts";
import type { Tool } from "./tool.ts";
import type { Ask } from "./workspace.ts";

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

/** Asks the person; only there where one can answer. */
export function createClarify(ask: Ask): Tool {
  return defineTool({
    name: "clarify",
    toolset: "clarify",
    description:
      "Ask the user, only when the answer changes what you do and you cannot find it out yourself.",
    input,
    mutates: false,
    exclusive: true,
    async run({ question, choices, multi_select }, { signal }) {
      const plain = choices.map((text) => text.replace(RECOMMENDED, ""));
      const answer = await ask(question, plain, { several: multi_select }, signal);
      if (answer === undefined)
        return failed("Nobody answered in time. Use your best judgement and say what you assumed.");
      return okJson({ question, answer: multi_select ? answer : (answer[0] ?? "") });
    },
  });
}
