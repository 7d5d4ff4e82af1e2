import type { AssistantMessage, UserMessage } from "../../providers/message.ts";

/** The parts of a stored message of the user or the model; undefined if the stored text is damaged. */
export function parseParts(body: string): (UserMessage | AssistantMessage)["parts"] | undefined {
  const parts = parseJson(body);
  if (!Array.isArray(parts) || !parts.every(isPart)) return undefined;
  return parts as (UserMessage | AssistantMessage)["parts"];
}

/** The text of a stored result; undefined if the stored text is damaged. */
export function parseResult(body: string): string | undefined {
  const text = parseJson(body);
  return typeof text === "string" ? text : undefined;
}

function isPart(part: unknown): boolean {
  return typeof part === "object" && part !== null && "type" in part;
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
