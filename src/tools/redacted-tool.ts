import type { Tool } from "./tool.ts";

/** The same tool, whose results hold no secret whatever part of them it came by: a path, a name, an error, a diff. */
export function redactedTool(tool: Tool, redact: (text: string) => string): Tool {
  return {
    ...tool,
    // A getter would be called once by the spread.
    get inputSchema() {
      return tool.inputSchema;
    },
    async call(input, context) {
      const { failed, text, display } = await tool.call(input, context);
      return {
        failed,
        text: redactText(text, redact),
        display: display === undefined ? undefined : redact(display),
      };
    },
  };
}

/** JSON is redacted text by text, because a secret without an end would take the rest of the object along. */
function redactText(text: string, redact: (text: string) => string): string {
  if (!text.startsWith("{")) return redact(text);
  try {
    return JSON.stringify(redactValue(JSON.parse(text), redact));
  } catch (error) {
    if (error instanceof SyntaxError) return redact(text); // it only begins like JSON
    throw error;
  }
}

function redactValue(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactValue(item, redact)]));
}
