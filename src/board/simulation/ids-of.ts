import type { OUTCOMES, TickReport } from "../dispatcher/tick-report.ts";

/** The ids under one outcome of a pass. */
export function idsOf(report: TickReport, outcome: (typeof OUTCOMES)[number]): readonly string[] {
  return report[outcome].map((entry) => (typeof entry === "string" ? entry : entry.task_id));
}
