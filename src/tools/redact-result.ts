import { resultOfError, type Tool } from "./tool.ts";
import { withCall } from "./with-call.ts";

/** Wraps a tool so that secrets are redacted everywhere in its results: in paths, names, errors and diffs. */
export function withRedactedResults(tool: Tool, redact: (text: string) => string): Tool {
  return withCall(tool, async (input, context) => {
    const { text, display, ...facts } = await tool.call(input, context).catch((error: unknown) => {
      if (context.signal.aborted) throw error;
      return resultOfError(error);
    });
    return { ...facts, text: redactText(text, redact), display: display && redact(display) };
  });
}

/** Redacts JSON string by string, because an unterminated secret would swallow the rest of the object. */
function redactText(text: string, redact: (text: string) => string): string {
  if (!text.startsWith("{")) return redact(text);
  try {
    return JSON.stringify(redactValue(JSON.parse(text), redact));
  } catch (error) {
    if (error instanceof SyntaxError) return redact(text); // it only looks like JSON
    throw error;
  }
}

function redactValue(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactValue(item, redact)]));
}
