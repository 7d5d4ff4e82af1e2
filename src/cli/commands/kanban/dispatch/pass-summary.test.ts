import { expect, test } from "vitest";
import { createReport } from "../../../../board/dispatcher/tick-report.ts";
import type { TaskName } from "../../../../board/operations/glance.ts";
import { summaryOf, tasksToName } from "./pass-summary.ts";

test("a pass is told with the tasks that it started, assigned and kept back, and why; many are counted", () => {
  const report = createReport("default", false);
  report.spawned.push({ task_id: "t_1", assignee: "coder", workspace: "" });
  report.auto_assigned_default.push("t_1");
  report.skipped_unassigned.push(...Array.from({ length: 40 }, (_, index) => `t_u${index}`));
  report.respawn_guarded.push(
    { task_id: "t_2", reason: "worker_leaving", until: 0 },
    { task_id: "t_3", reason: "backoff", until: new Date(2027, 0, 31, 9, 30).getTime() },
  );
  report.skipped_nonspawnable.push("t_4");
  report.nonspawnable_reasons["ghost"] = "there is no profile ghost";
  const name = (id: string, seq: number, title: string): [string, TaskName] => [
    id,
    { id, seq, title, status: "ready", assignee: null },
  ];
  const names = new Map([name("t_1", 1, "Build"), name("t_2", 2, "Test"), name("t_3", 3, "Ship")]);
  expect(tasksToName(report)).toHaveLength(9); // five of the forty are named
  expect(summaryOf(report, names)).toEqual({
    acts: ["Started #1 Build as coder, to whom kanban.default_assignee gives it."],
    soon: ["Kept back until a worker has ended: #2 Test."],
    kept: [
      "Kept back, without an assignee: t_u0, t_u1, t_u2, t_u3, t_u4 and 35 more.",
      "Kept back, for a profile that cannot work here: t_4.",
      "Kept back, not tried again yet: #3 Ship (it pauses after a failure, until 2027-01-31 09:30).",
      "  ghost: there is no profile ghost",
    ],
  });
});
