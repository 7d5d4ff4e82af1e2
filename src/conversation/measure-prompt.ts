import { type PromptFacts, promptSections } from "../agent/system-prompt.ts";
import type { Tool } from "../tools/tool.ts";
import { definitionsOf } from "./first-prompt.ts";

/** One part of what every request begins with. */
export interface PromptPart {
  readonly kind: "prompt" | "tool";
  readonly name: string;
  readonly characters: number;
  readonly tokens: number;
}

/** What a first request costs before the user has said a word, the largest part first. */
export function measurePrompt(
  facts: PromptFacts,
  tools: ReadonlyMap<string, Tool>,
  countTokens: (text: string) => number,
): { readonly parts: readonly PromptPart[]; readonly tokens: number } {
  const measure = (kind: PromptPart["kind"], name: string, text: string): PromptPart => ({
    kind,
    name,
    characters: text.length,
    tokens: countTokens(text),
  });
  const parts = [
    ...promptSections(facts).map(({ name, text }) => measure("prompt", name, text)),
    ...definitionsOf(tools).map(({ name, description, inputSchema }) => {
      // As most providers want it; the others differ in a few words.
      const body = { type: "function", function: { name, description, parameters: inputSchema } };
      return measure("tool", name, JSON.stringify(body));
    }),
  ];
  return {
    parts: parts.toSorted((one, other) => other.tokens - one.tokens || one.name.localeCompare(other.name)),
    tokens: parts.reduce((sum, part) => sum + part.tokens, 0),
  };
}
