import { ourToolName, toSnakeCase } from "./model-habits.ts";
import type { Tool } from "./tool.ts";

/** The tool that a model means: by its name, in any spelling, or by the name that a well-known agent has for such a tool. */
export function findTool(tools: ReadonlyMap<string, Tool>, name: string): Tool | undefined {
  const ours = ourToolName(name);
  return tools.get(name) ?? tools.get(ours) ?? tools.get(toSnakeCase(ours));
}
