import type { OUTCOMES, PassReport } from "../../src/board/dispatcher/pass-report.ts";

/** The ids of the tasks with one outcome in the report of a pass. */
export function idsOf(report: PassReport, outcome: (typeof OUTCOMES)[number]): readonly string[] {
  return report[outcome].map((entry) => (typeof entry === "string" ? entry : entry.task_id));
}
