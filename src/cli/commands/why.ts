import type { Command } from "commander";
import { openAppSessions } from "../../app/approvals.ts";
import { describeStep, type RecordedDecision } from "../../approvals/decision-log.ts";
import { formatTime } from "../../lib/time/format-time.ts";
import type { CommandContext, JsonOption } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { quoteBlock, quoteLine } from "../terminal/quote-text.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** `hermes why CALL` explains why a call was or was not run. */
export function build(context: CommandContext): Command {
  const command = defineCommand("hermes why", "Explain why a call was or was not run.", context.terminal)
    .argument("<call>", "call id or id prefix; `hermes audit` lists calls")
    .option("--json", "print JSON")
    .action((call, options) => showWhy(context, call, options));
  return withExamples(command, ["hermes why call_4f2a", "hermes audit --since 1h"]);
}

async function showWhy(
  { terminal, openApp, signal }: CommandContext,
  call: string,
  { json }: JsonOption,
): Promise<void> {
  using store = await openAppSessions(await openApp(), signal);
  const decisions = store.decisions.require(call);
  if (json) return terminal.printJson(decisions);
  terminal.print(decisions.map((decision) => formatDecision(decision, terminal)).join("\n\n"));
}

function formatDecision(decision: RecordedDecision, { columns }: Terminal): string {
  const { callId, tool, summary, verdict, rule, layer, answeredBy, scope, approvalId, outcome } = decision;
  const lines: readonly (readonly [string, string | undefined])[] = [
    ["call", `${callId} (${tool}, ${formatTime(decision.decidedAt)})`],
    ["what", summary],
    ["verdict", `${verdict}, ${formatStep(decision)}`],
    ["why", decision.reason],
    ["rule", rule === undefined ? undefined : `${rule}${layer === undefined ? "" : ` (${layer})`}`],
    [
      "answer",
      answeredBy === undefined
        ? undefined
        : `by ${answeredBy}${scope === undefined ? "" : `, for ${scope}`}${approvalId === undefined ? "" : `, question ${approvalId}`}`,
    ],
    ["result", outcome],
    ["session", decision.sessionId],
  ];
  return lines
    .flatMap(([label, value]) => {
      if (value === undefined) return [];
      // Only a command may have several lines.
      return [
        label === "what"
          ? quoteBlock(label.padEnd(8), value, columns)
          : `${label.padEnd(8)} ${quoteLine(value)}`,
      ];
    })
    .join("\n");
}

function formatStep(decision: RecordedDecision): string {
  const step = describeStep(decision);
  return step === decision.step ? `by the step ${step}` : step;
}
