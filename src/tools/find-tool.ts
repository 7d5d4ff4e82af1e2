import { ourToolName } from "./model-habits.ts";
import type { Tool } from "./tool.ts";

/** The tool that a model means: by its name, or by the name that a well-known agent has for such a tool. */
export function findTool(tools: ReadonlyMap<string, Tool>, name: string): Tool | undefined {
  return tools.get(name) ?? tools.get(ourToolName(name));
}
