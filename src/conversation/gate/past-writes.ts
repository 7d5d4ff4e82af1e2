import { collectCommandEffects } from "../../policy/command-effects.ts";
import { locate } from "../../policy/commands/sensitive-paths.ts";
import { readCommand } from "../../policy/shell-reader/read-command.ts";
import { type Message, toolCallsOf } from "../../providers/message.ts";
import { findTool } from "../../tools/find-tool.ts";
import type { Tool } from "../../tools/tool.ts";

const MAX_CALLS = 500;

/** The absolute paths of the files that a conversation's calls have written, as far as their input shows. */
export function findPastWrites(
  messages: readonly Message[],
  tools: ReadonlyMap<string, Tool>,
  facts: { readonly cwd: string; readonly home: string | undefined },
): readonly string[] {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? toolCallsOf(message) : []));
  return calls.slice(-MAX_CALLS).flatMap(({ tool, input }) => {
    const { writes = [], commands = [] } = findTool(tools, tool)?.effectsOf?.(input) ?? {};
    const byCommands = commands.flatMap((text) => {
      const reading = readCommand(text, facts);
      return "unreadable" in reading ? [] : collectCommandEffects(reading.invocations).writes;
    });
    return [...writes.map((path) => locate(path, facts.cwd)), ...byCommands.map(({ path }) => path)];
  });
}
