import { createClarify } from "./clarify.ts";
import { createFileMemory } from "./files/file-memory.ts";
import { createPatch } from "./files/patch.ts";
import { createReadFile } from "./files/read-file.ts";
import { createSearchFiles } from "./files/search-files.ts";
import { createWriteFile } from "./files/write-file.ts";
import { createProcess } from "./terminal/process.ts";
import { createTerminal } from "./terminal/terminal.ts";
import { createTodo, type TodoItem } from "./todo.ts";
import type { Tool } from "./tool.ts";
import type { ToolParts } from "./workspace.ts";

/** Groups of tools that can be switched on and off together. */
export const TOOLSETS = ["terminal", "file", "todo", "clarify"] as const;
export type Toolset = (typeof TOOLSETS)[number];

/** The tools of a session, in an order that never changes: they are the beginning of every prompt. */
export function createTools(
  parts: ToolParts,
  { toolsets, todos }: { readonly toolsets: ReadonlySet<string>; readonly todos: readonly TodoItem[] },
): ReadonlyMap<string, Tool> {
  const memory = createFileMemory();
  const all: readonly Tool[] = [
    createTerminal(parts),
    createProcess(parts),
    createReadFile(parts, memory),
    createWriteFile(parts, memory),
    createPatch(parts, memory),
    createSearchFiles(parts),
    createTodo(todos),
    ...(parts.ask === undefined ? [] : [createClarify(parts.ask)]),
  ];
  return new Map(all.filter(({ toolset }) => toolsets.has(toolset)).map((tool) => [tool.name, tool]));
}
