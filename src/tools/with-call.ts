import type { Tool } from "./tool.ts";

/** Replaces the `call` of a tool. The schema stays a getter, because it is expensive and seldom needed. */
export function withCall(tool: Tool, call: Tool["call"]): Tool {
  return {
    ...tool,
    get inputSchema() {
      return tool.inputSchema;
    },
    call,
  };
}
