import { createClarify } from "./clarify.ts";
import { createPatch } from "./files/patch.ts";
import { createReadFile } from "./files/read-file.ts";
import { createSearchFiles, SearchCounter } from "./files/search-files.ts";
import { SeenFiles } from "./files/seen-files.ts";
import { createSendFile } from "./files/send-file.ts";
import { createVisionAnalyze } from "./files/vision-analyze.ts";
import { createWriteFile } from "./files/write-file.ts";
import { withRedactedResults } from "./redact-result.ts";
import { createSessionSearch } from "./session-search.ts";
import { createProcess } from "./terminal/process.ts";
import { createTerminal } from "./terminal/terminal.ts";
import { createTodo, type TodoState } from "./todo.ts";
import type { Tool } from "./tool.ts";
import type { ToolParts } from "./tool-parts.ts";
import { withCall } from "./with-call.ts";

/** Groups of tools that are enabled and disabled together. */
export const TOOLSETS = ["terminal", "file", "vision", "todo", "session_search", "clarify"] as const;

/** The names of all tools, for rules. */
export const TOOL_NAMES: ReadonlySet<string> = new Set([
  ...["terminal", "process", "read_file", "write_file", "patch", "search_files", "send_file"],
  ...["vision_analyze", "todo", "session_search", "clarify"],
]);

interface ToolChoice {
  readonly toolsets: ReadonlySet<string>;
  readonly todos: TodoState;
  /** The tools that the surface adds, after the built-in ones. */
  readonly added: readonly Tool[];
}

/**
 * The tools of a session, with secrets redacted in their results. Their order is fixed: every prompt starts with them, and
 * providers cache that prefix.
 */
export function createTools(
  parts: ToolParts,
  { toolsets, todos, added }: ToolChoice,
): ReadonlyMap<string, Tool> {
  const seenFiles = new SeenFiles();
  const searches = new SearchCounter();
  const { findAnswer, pastSessions, fileSending, vision } = parts;
  const builtIn: readonly Tool[] = [
    createTerminal(parts, { hasFileTools: toolsets.has("file") }),
    createProcess(parts),
    createReadFile(parts, seenFiles),
    createWriteFile(parts, seenFiles),
    createPatch(parts, seenFiles),
    createSearchFiles(parts, searches),
    ...(vision === undefined ? [] : [createVisionAnalyze(parts, vision)]),
    createTodo(todos),
    ...(pastSessions === undefined ? [] : [createSessionSearch(pastSessions, parts.owner)]),
    ...(findAnswer === undefined ? [] : [createClarify(findAnswer)]),
    ...(fileSending === undefined ? [] : [createSendFile(parts, fileSending)]),
  ];
  const redact = (text: string): string => parts.redact(text, { code: true });
  const enabled = builtIn
    .filter(({ toolset }) => toolsets.has(toolset))
    .map((tool) => (tool.mutates ? beforeCall(tool, () => searches.reset()) : tool));
  return new Map([...enabled, ...added].map((tool) => [tool.name, withRedactedResults(tool, redact)]));
}

function beforeCall(tool: Tool, action: () => void): Tool {
  return withCall(tool, (input, context) => {
    action();
    return tool.call(input, context);
  });
}
