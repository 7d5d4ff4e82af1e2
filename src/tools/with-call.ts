import type { Tool } from "./tool.ts";

/** The same tool with another `call`; its schema stays a getter. */
export function withCall(tool: Tool, call: Tool["call"]): Tool {
  return {
    ...tool,
    get inputSchema() {
      return tool.inputSchema;
    },
    call,
  };
}
