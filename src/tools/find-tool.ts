import { mapToolName, toSnakeCase } from "./model-habits.ts";
import type { Tool } from "./tool.ts";

/** Finds the tool that a model means: by any spelling of its name, or by its name in other agents. */
export function findTool(tools: ReadonlyMap<string, Tool>, name: string): Tool | undefined {
  const ours = mapToolName(name);
  return tools.get(name) ?? tools.get(ours) ?? tools.get(toSnakeCase(ours));
}
