import type { Command } from "commander";
import { openAppSessions } from "../../app/approvals.ts";
import { describeStep } from "../../approvals/decision-log.ts";
import { formatTime } from "../../lib/time/format-time.ts";
import type { CommandContext, JsonOption } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { parseCount, parseSince } from "../parse-option.ts";
import { quoteLine, quoteShort } from "../terminal/quote-text.ts";
import { renderTable } from "../terminal/table.ts";

interface AuditOptions extends JsonOption {
  readonly since?: number;
  readonly limit: number;
  readonly denied?: boolean;
}

const DAY_MS = 86_400_000;

/** `hermes audit` lists the calls that were run or refused. */
export function build(context: CommandContext): Command {
  const command = defineCommand("hermes audit", "List the calls that were run or refused.", context.terminal)
    .option("--since <time>", "only calls after this time: 2h, 7d or a date (default: 1d)", parseSince)
    .option("-n, --limit <count>", "maximum number of calls, latest last", parseCount, 100)
    .option("--denied", "only calls that were refused")
    .option("--json", "print JSON")
    .action((options) => audit(context, options));
  return withExamples(command, ["hermes audit", "hermes audit --since 7d --denied"]);
}

async function audit({ terminal, openApp, signal }: CommandContext, options: AuditOptions): Promise<void> {
  using store = await openAppSessions(await openApp(), signal);
  const all = store.decisions.since(options.since ?? Date.now() - DAY_MS, options.limit);
  const rows = options.denied ? all.filter(({ verdict }) => verdict === "denied") : all;
  if (options.json) return terminal.printJson(rows);
  if (rows.length === 0) return terminal.print("No calls in this time.");
  terminal.print(
    renderTable(
      ["TIME", "CALL", "VERDICT", "RESULT", "WHAT"],
      rows.map((decision) => [
        formatTime(decision.decidedAt),
        quoteLine(decision.callId),
        `${decision.verdict} (${describeStep(decision)})`,
        decision.outcome ?? "",
        `${decision.tool}: ${quoteShort(decision.summary)}`,
      ]),
      terminal,
    ),
  );
}
