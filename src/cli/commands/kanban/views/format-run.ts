import { briefError } from "../../../../board/brief-error.ts";
import type { Run } from "../../../../board/task.ts";
import { formatTime } from "../../../../lib/time/format-time.ts";
import { formatOutcome } from "./event-line.ts";
import { ageOf } from "./task-lines.ts";

/** Formats a run in one line: number, start, worker, duration, cost, tokens, outcome and summary or error. */
export function formatRun(run: Run): string {
  const duration = ageOf((run.ended_at ?? Date.now()) - run.started_at);
  const cost = run.cost_micros === 0 ? [] : [`$${(run.cost_micros / 1_000_000).toFixed(4)}`];
  const tokens = run.input_tokens + run.output_tokens;
  const used = tokens === 0 ? [] : [`${tokens} tokens`];
  const facts = [
    `run ${run.id}`,
    formatTime(run.started_at),
    run.profile ?? "by hand",
    duration,
    ...cost,
    ...used,
  ];
  const detail = run.summary?.split("\n", 1)[0] ?? briefError(run.error ?? "");
  return `${facts.join("  ")}  ${formatOutcome(run.outcome)}${detail ? `: ${detail}` : ""}`;
}
