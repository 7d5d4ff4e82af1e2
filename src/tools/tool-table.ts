import { createClarify } from "./clarify.ts";
import { createFileMemory } from "./files/file-memory.ts";
import { createPatch } from "./files/patch.ts";
import { createReadFile } from "./files/read-file.ts";
import { createRepeatedSearch } from "./files/repeated-search.ts";
import { createSearchFiles } from "./files/search-files.ts";
import { createWriteFile } from "./files/write-file.ts";
import { redactedTool } from "./redacted-tool.ts";
import { createSessionSearch } from "./session-search.ts";
import { createProcess } from "./terminal/process.ts";
import { createTerminal } from "./terminal/terminal.ts";
import { createTodo, type TodoState } from "./todo.ts";
import type { Tool } from "./tool.ts";
import type { ToolParts } from "./workspace.ts";

/** Groups of tools that can be switched on and off together. */
export const TOOLSETS = ["terminal", "file", "todo", "session_search", "clarify"] as const;

/** The tools of a session, in an order that never changes: they are the beginning of every prompt. */
export function createTools(
  parts: ToolParts,
  { toolsets, todos }: { readonly toolsets: ReadonlySet<string>; readonly todos: TodoState },
): ReadonlyMap<string, Tool> {
  const memory = createFileMemory();
  const searches = createRepeatedSearch();
  const { ask, pastSessions } = parts;
  const all: readonly Tool[] = [
    createTerminal(parts, { hasFileTools: toolsets.has("file") }),
    createProcess(parts),
    createReadFile(parts, memory),
    createWriteFile(parts, memory),
    createPatch(parts, memory),
    createSearchFiles(parts, searches),
    createTodo(todos),
    ...(pastSessions === undefined ? [] : [createSessionSearch(pastSessions, parts.owner)]),
    ...(ask === undefined ? [] : [createClarify(ask)]),
  ];
  const redact = (text: string): string => parts.redact(text, { code: true });
  return new Map(
    all
      .filter(({ toolset }) => toolsets.has(toolset))
      .map((tool) => [tool.name, redactedTool(tool.mutates ? before(tool, searches.reset) : tool, redact)]),
  );
}

/** The same tool, which says so before each call. */
function before(tool: Tool, tell: () => void): Tool {
  return {
    ...tool,
    get inputSchema() {
      return tool.inputSchema;
    },
    call(input, context) {
      tell();
      return tool.call(input, context);
    },
  };
}
