import { expect, test } from "vitest";
import { createPassReport } from "../../../../board/dispatcher/pass-report.ts";
import type { TaskName } from "../../../../board/operations/views/list-details.ts";
import { summarizePass, tasksNotStarted, tasksToName, withoutTasks } from "./pass-summary.ts";

test("the summary of a pass names the tasks that it started, assigned and did not start, with reasons, and counts the rest", () => {
  const report = createPassReport("default", false);
  report.spawned.push({ task_id: "t_1", assignee: "coder", workspace: "" });
  report.auto_assigned_default.push("t_1");
  report.skipped_unassigned.push(...Array.from({ length: 40 }, (_, index) => `t_u${index}`));
  report.respawn_guarded.push(
    { task_id: "t_2", reason: "worker_leaving", until: 0 },
    { task_id: "t_3", reason: "backoff", until: new Date(2027, 0, 31, 9, 30).getTime() },
  );
  report.skipped_nonspawnable.push("t_4");
  report.concurrent_claimed.push("t_5"); // perhaps a person completed it after it was listed
  report.nonspawnable_reasons["ghost"] = "there is no profile ghost";
  const name = (id: string, seq: number, title: string): [string, TaskName] => [
    id,
    { id, seq, title, status: "ready", assignee: null },
  ];
  const names = new Map([name("t_1", 1, "Build"), name("t_2", 2, "Test"), name("t_3", 3, "Ship")]);
  expect(tasksToName(report)).toHaveLength(10); // five of the forty are named
  expect(summarizePass(report, names)).toEqual({
    actions: ["Started #1 Build as coder (kanban.default_assignee)."],
    startingSoon: ["Not started until a worker has exited: #2 Test."],
    notStarted: [
      "Not started, no assignee: t_u0, t_u1, t_u2, t_u3, t_u4 and 35 more.",
      "Not started, profile not usable here: t_4.",
      "Not started yet: #3 Ship (it pauses after a failure, until 2027-01-31 09:30).",
      "Not started, claimed or changed by another process: t_5.",
      "  ghost: there is no profile ghost",
    ],
  });
});

test("of the tasks that a pass did not start, those that the pass before it did not start for the same reason are omitted", () => {
  const before = createPassReport("default", false);
  before.deferred_capacity.push("t_1", "t_2");
  before.respawn_guarded.push({ task_id: "t_3", reason: "backoff", until: 0 });
  const report = createPassReport("default", false);
  report.spawned.push({ task_id: "t_1", assignee: "coder", workspace: "" });
  report.deferred_capacity.push("t_2", "t_3", "t_4");
  report.respawn_guarded.push({ task_id: "t_5", reason: "backoff", until: 0 });
  const changed = withoutTasks(report, tasksNotStarted(before));
  expect(changed.deferred_capacity).toEqual(["t_3", "t_4"]);
  expect(changed).toMatchObject({ spawned: report.spawned, respawn_guarded: report.respawn_guarded });
  const again = { ...before, respawn_guarded: [{ task_id: "t_3", reason: "backoff" as const, until: 9 }] };
  expect(summarizePass(withoutTasks(again, tasksNotStarted(before)), new Map()).notStarted).toEqual([]);
});
