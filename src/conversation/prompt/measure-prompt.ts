import { createPromptSections, type PromptFacts } from "../../agent/prompt/system-prompt.ts";
import type { ToolDefinition } from "../../providers/provider.ts";
import type { Tool } from "../../tools/tool.ts";
import { createToolDefinitions } from "./prompt-facts.ts";

/** One part of the prefix that every request of a session shares: a prompt section or a tool definition. */
export interface PromptPart {
  readonly kind: "prompt" | "tool";
  readonly name: string;
  readonly characters: number;
  readonly tokens: number;
}

/** Measures the system prompt and the tools of a first request, largest part first. */
export function measurePrompt(
  facts: PromptFacts,
  tools: ReadonlyMap<string, Tool>,
  countTokens: (text: string) => number,
): { readonly parts: readonly PromptPart[]; readonly tokens: number } {
  const parts = [
    ...createPromptSections(facts).map(
      ({ name, text }): PromptPart => ({
        kind: "prompt",
        name,
        characters: text.length,
        tokens: countTokens(text),
      }),
    ),
    ...createToolDefinitions(tools).map((definition) => measureTool(definition, countTokens)),
  ];
  return {
    parts: parts.toSorted((one, other) => other.tokens - one.tokens || one.name.localeCompare(other.name)),
    tokens: parts.reduce((sum, part) => sum + part.tokens, 0),
  };
}

/** Measures the definition of one tool, in the format of most providers; the others differ by a few tokens. */
export function measureTool(
  { name, description, inputSchema }: ToolDefinition,
  countTokens: (text: string) => number,
): PromptPart {
  const body = { type: "function", function: { name, description, parameters: inputSchema } };
  const text = JSON.stringify(body);
  return { kind: "tool", name, characters: text.length, tokens: countTokens(text) };
}
