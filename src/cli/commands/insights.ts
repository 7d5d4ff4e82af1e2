import type { Command } from "commander";
import type { NamedTotals } from "../../sessions/rows/session-usage.ts";
import type { UsageTotals } from "../../sessions/session.ts";
import type { CommandContext, JsonOption } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { parseSince } from "../parse-option.ts";
import { cutText } from "../terminal/fit-text.ts";
import { renderTable } from "../terminal/table.ts";
import { formatTokens } from "./model/fact-text.ts";
import { findStore } from "./sessions/require-session.ts";

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;

export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes insights",
    "Show what your sessions used, by day and by model: tokens, cost, the share of the prompt that came from the cache, tools and time.",
    context.terminal,
  )
    .option(
      "--since <time>",
      `only requests after this time: 2h, 7d or a date (default: ${DEFAULT_DAYS}d)`,
      parseSince,
    )
    .option("--json", "print JSON")
    .action((options: InsightsOptions) => showInsights(context, options))
    .addHelpText("after", "\nA + after a cost means that the price of some answers is unknown.");
  return withExamples(command, [
    "hermes insights",
    "hermes insights --since 7d",
    "hermes insights --since 2026-01-01 --json",
  ]);
}

interface InsightsOptions extends JsonOption {
  readonly since?: number;
}

async function showInsights(
  context: CommandContext,
  { since = Date.now() - DEFAULT_DAYS * DAY_MS, json }: InsightsOptions,
): Promise<void> {
  const { terminal } = context;
  using store = await findStore(context);
  const usage = store?.usage;
  const turns = new Map(usage?.turnsByDay(since).map((day) => [day.name, day]));
  const days = (usage?.byDay(since) ?? []).toReversed().map((day) => ({
    ...withShare(day),
    turns: turns.get(day.name)?.turns ?? 0,
    durationMs: turns.get(day.name)?.durationMs ?? 0,
  }));
  const models = (usage?.byModel(since) ?? []).map(withShare);
  const tools = usage?.byTool(since) ?? [];
  if (json) return terminal.printJson({ since: new Date(since).toISOString(), days, models, tools });
  if (days.length === 0)
    return terminal.print(`No requests since ${new Date(since).toISOString().slice(0, 10)}.`);
  const most = Math.max(...days.map(tokensOf));
  const dayRows = days.map((day) => [
    day.name,
    ...usageCells(day),
    `${day.turns}`,
    formatSeconds(day.durationMs),
    plot(tokensOf(day) / most),
  ]);
  terminal.print(
    renderTable(["DAY", "IN", "OUT", "CACHE", "COST", "TURNS", "TIME", "TOKENS"], dayRows, terminal),
  );
  const mostOfModel = Math.max(...models.map(tokensOf));
  const nameWidth = Math.max(MIN_NAME_WIDTH, (terminal.columns ?? Number.POSITIVE_INFINITY) - MODEL_COLUMNS);
  const modelRows = models.map((model) => [
    cutText(model.name, nameWidth),
    `${model.requests}`,
    ...usageCells(model),
    plot(tokensOf(model) / mostOfModel),
  ]);
  terminal.print(
    `\n${renderTable(["MODEL", "REQUESTS", "IN", "OUT", "CACHE", "COST", "TOKENS"], modelRows, terminal)}`,
  );
  if (tools.length === 0) return;
  const mostCalls = Math.max(...tools.map(({ calls }) => calls));
  const toolRows = tools.map(({ name, calls, failed, durationMs }) => [
    name,
    `${calls}`,
    `${failed}`,
    formatSeconds(durationMs),
    plot(calls / mostCalls),
  ]);
  terminal.print(`\n${renderTable(["TOOL", "CALLS", "FAILED", "TIME", ""], toolRows, terminal)}`);
}

/** Adds the share of the prompt tokens that the provider read from its cache; null without a prompt. */
function withShare(totals: NamedTotals): NamedTotals & { readonly cacheShare: number | null } {
  const { inputTokens, cacheReadTokens } = totals;
  return { ...totals, cacheShare: inputTokens === 0 ? null : cacheReadTokens / inputTokens };
}

function usageCells(totals: ReturnType<typeof withShare>): string[] {
  const { inputTokens, outputTokens, cacheShare, costUsd, unpriced } = totals;
  return [
    formatTokens(inputTokens),
    formatTokens(outputTokens),
    cacheShare === null ? "" : `${Math.round(cacheShare * 100)} %`,
    `$${costUsd.toFixed(2)}${unpriced > 0 ? "+" : ""}`,
  ];
}

function tokensOf({ inputTokens, outputTokens }: UsageTotals): number {
  return inputTokens + outputTokens;
}

const BAR_WIDTH = 20;
/** The width of the columns other than the name of the model. */
const MODEL_COLUMNS = 59;
const MIN_NAME_WIDTH = 16;

/** A bar for a share of the largest value; anything above 0 is visible. */
function plot(share: number): string {
  return "▇".repeat(share > 0 ? Math.max(1, Math.round(share * BAR_WIDTH)) : 0);
}

/** A duration in a narrow column: 4.2s, 12m, 3.5h. */
function formatSeconds(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  return seconds < 3_600 ? `${Math.round(seconds / 60)}m` : `${(seconds / 3_600).toFixed(1)}h`;
}
