import { expect, test } from "vitest";
import { openKanbanCli } from "../../../../test/support/kanban-line.ts";

const TIME_OF_DAY = "\\d{1,2}:\\d\\d(?::\\d\\d)?";

test("each verb prints the new state of the task with its number and title", async () => {
  await using cli = await openKanbanCli();
  for (const title of ["Ask", "Build", "Check"]) await cli.ok(["create", title]);
  await cli.ok(["create", "Draft", "--triage"]);
  const rows: readonly (readonly [command: string, expected: string | RegExp])[] = [
    ["assign 1 coder", "#1 Ask is now assigned to coder."],
    ["assign 1 none", "#1 Ask is now unassigned."],
    ["edit 1 --priority 3", "Changed priority of #1 Ask."],
    ["set-model 1 m", "#1 Ask will run with the model m."],
    ["set-model 1 none", "#1 Ask will run with the model of its profile."],
    ["comment 1 hello", "Commented on #1 Ask."],
    ["link 1 2", "#2 now waits for #1. It is no longer ready."],
    ["link 1 2", "#2 already waits for #1."],
    ["unlink 1 2", "#2 no longer waits for #1; it is ready."],
    ["unlink 1 2", "#2 did not wait for #1; it is ready."],
    ["block 1 which colour?", "#1 Ask is blocked."],
    ["answer 1 blue", "#1 Ask is answered; it is ready."],
    ["block 1 2 --ids 2", "#1 Ask is blocked.\n#2 Build is blocked."],
    ["unblock 1 2", "#1 Ask is ready.\n#2 Build is ready."],
    ["schedule 1 --at 2099-01-31T09:00", /^#1 Ask waits until .*2099.*\.$/],
    ["unblock 1", "#1 Ask is ready."],
    ["hold 1", "#1 Ask is held."],
    ["hold 1 --off", "#1 Ask is no longer held; it is ready."],
    ["claim 1", new RegExp(`^#1 Ask is yours until .*${TIME_OF_DAY}.* \\(run 1\\)\\.$`)],
    ["unguard 1", "#1 Ask is running."],
    ["request-review 1 --reviewer rev", "#1 Ask is under review, assigned to rev."],
    ["request-changes 1 tests are missing", /^#1 Ask is ready, /],
    ["complete 1", "#1 Ask is done."],
    ["reopen 1", "#1 Ask is ready."],
    ["reassign 1 coder", "#1 Ask is now assigned to coder."],
    ["unguard 3", /^#3 Check does not start\./],
    [
      "schedule 3 --at 2020-01-31T09:00",
      /^#3 Check becomes ready when the dispatcher next runs, because 2020-.* is in the past\.$/,
    ],
    ["promote 4 --dry-run", "#4 Draft would be ready."],
    ["promote 4", "#4 Draft is ready."],
    ["archive 3", "#3 Check is archived."],
    ["purge 3", "#3 Check is deleted."],
  ];
  for (const [command, expected] of rows) {
    const { stderr, failure } = await cli.run(command.split(" "));
    expect(failure?.message, command).toBeUndefined();
    const printed = stderr
      .split("\n")
      .filter((text) => text !== "" && !text.startsWith("hermes: note:"))
      .join("\n");
    if (typeof expected === "string") expect(printed, command).toBe(expected);
    else expect(printed, command).toMatch(expected);
    expect(printed, command).not.toMatch(/t_[0-9a-f]{12}/);
  }
});
