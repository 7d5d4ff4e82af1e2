import type { Command } from "commander";
import { findDefaultRoute } from "../../app/conversation.ts";
import { describeBoardTools } from "../../board/tools/board-tools.ts";
import { AppError } from "../../lib/errors.ts";
import type { Tool } from "../../tools/tool.ts";
import { TOOLSETS } from "../../tools/tool-table.ts";
import type { CommandContext, JsonOption } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { startApp } from "../start-app.ts";
import { renderTable } from "../terminal/table.ts";

/** Where tools are offered to the model. */
type Audience = "chat" | "-z" | "gateway" | "API" | "board";

/** Where a question can be answered. */
const ANSWERED: readonly Audience[] = ["chat", "gateway", "API", "board"];
const ALL: readonly Audience[] = ["chat", "-z", "gateway", "API", "board"];

interface ToolRow {
  readonly tool: string;
  readonly toolset: string;
  readonly enabled: boolean;
  readonly offered_to: readonly Audience[];
  readonly tokens: number;
}

export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes tools",
    "Show the tools that the model can call: which are on, where they are offered, and what each costs in every request.",
    context.terminal,
  )
    .option("--json", "print JSON")
    .action((options: JsonOption) => showTools(context, options))
    .addHelpText(
      "after",
      "\nTo turn a toolset off: hermes config set agent.disabled_toolsets '[\"todo\"]'.\nFor one run: hermes chat --toolsets file,terminal. Tokens are counted with\nOpenAI's o200k tokenizer.",
    );
  return withExamples(command, ["hermes tools", "hermes tools --json"]);
}

async function showTools(context: CommandContext, { json }: JsonOption): Promise<void> {
  const { terminal } = context;
  const { resolved } = await startApp(context);
  const { agent, approvals, terminal: limits } = resolved.config;
  const [{ describeTools }, { offersVision }, { measureTool }, { countTokens }] = await Promise.all([
    import("../../conversation/prompt/prompt-facts.ts"),
    import("../../conversation/prompt/describe-images.ts"),
    import("../../conversation/prompt/measure-prompt.ts"),
    import("gpt-tokenizer/encoding/o200k_base"),
  ]);
  const offer = { limits: { timeout: limits.timeout, maxForegroundTimeout: limits.max_foreground_timeout } };
  const route = findDefaultRoute(resolved);
  const canSee = offersVision(resolved.config, route instanceof AppError ? undefined : route);
  const all = describeTools({ ...offer, canAsk: true, canSee, disabled: [] });
  const oneShot = describeTools({
    ...offer,
    canAsk: approvals.single_query_mode === "ask",
    canSee,
    disabled: [],
  });
  const describe = (tool: Tool, offeredTo: readonly Audience[]): ToolRow => ({
    tool: tool.name,
    toolset: tool.toolset,
    enabled: tool.toolset === "kanban" || !agent.disabled_toolsets.includes(tool.toolset),
    offered_to: offeredTo,
    tokens: measureTool(tool, (text) => countTokens(text)).tokens,
  });
  const rows = [
    ...[...all.values()].map((tool) => describe(tool, oneShot.has(tool.name) ? ALL : ANSWERED)),
    ...describeBoardTools().map((tool) => describe(tool, ["board"])),
  ];
  if (json) return terminal.printJson(rows);
  const cells = rows.map(({ tool, toolset, enabled, offered_to, tokens }) => [
    tool,
    toolset,
    enabled ? "on" : "off",
    `${tokens}`,
    offered_to.join(", "),
  ]);
  terminal.print(renderTable(["TOOL", "TOOLSET", "STATE", "TOKENS", "OFFERED TO"], cells, terminal));
  const inChat = rows.filter(({ enabled, offered_to }) => enabled && offered_to.includes("chat"));
  const tokens = inChat.reduce((sum, row) => sum + row.tokens, 0);
  terminal.print(`\n${inChat.length} tools with ${tokens} tokens in every request of a chat.`);
  const unknown = agent.disabled_toolsets.filter((name) => !TOOLSETS.some((toolset) => toolset === name));
  if (unknown.length > 0)
    terminal.note(`hermes: agent.disabled_toolsets names no toolset: ${unknown.join(", ")}`);
}
