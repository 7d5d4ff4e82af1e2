import { findFileSize } from "../../../lib/files/files.ts";
import type { NamedTotals } from "../../../sessions/rows/session-usage.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { formatBytes } from "../../terminal/format-bytes.ts";
import { printFields, renderTable } from "../../terminal/table.ts";
import { findStore } from "./require-session.ts";

/** Prints the number and size of sessions, and their cost by model and by day. */
export async function showStats(
  context: CommandContext,
  { since = 0, json }: JsonOption & { since?: number },
): Promise<void> {
  const { terminal } = context;
  const { profile } = await context.openApp();
  using store = await findStore(context);
  const counts = store?.list.count() ?? { sessions: 0, archived: 0, turns: 0 };
  const bytes = (await findFileSize(profile.sessionsPath)) ?? 0;
  const models = store?.usage.byModel(since) ?? [];
  const days = store?.usage.byDay(since) ?? [];
  if (json) return terminal.printJson({ ...counts, bytes, models, days });
  printFields(terminal, [
    ["sessions", `${counts.sessions} (${counts.archived} archived)`],
    ["turns", String(counts.turns)],
    ["size", formatBytes(bytes)],
  ]);
  for (const [header, rows] of [
    ["MODEL", models],
    ["DAY", days],
  ] as const)
    if (rows.length > 0) terminal.print(`\n${renderTotals(context, header, rows)}`);
}

function renderTotals({ terminal }: CommandContext, header: string, rows: readonly NamedTotals[]): string {
  const cells = rows.map(({ name, requests, inputTokens, outputTokens, costUsd, unpriced }) => [
    String(requests),
    String(inputTokens),
    String(outputTokens),
    `$${costUsd.toFixed(4)}${unpriced > 0 ? "+" : ""}`,
    name,
  ]);
  return renderTable(["REQUESTS", "TOKENS IN", "TOKENS OUT", "COST", header], cells, terminal);
}
