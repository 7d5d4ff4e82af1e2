import { expect, test } from "vitest";
import { openKanbanLine } from "../../../../test/support/kanban-line.ts";
import type { Task } from "../../../board/task.ts";

test("with HERMES_KANBAN_TASK set and no living run the command line reads, and changes nothing", async () => {
  await using line = await openKanbanLine();
  const { id } = await line.json<Task>(["create", "own"]);
  const env = { HERMES_KANBAN_TASK: id, HERMES_KANBAN_RUN_ID: "7" };
  expect(await line.ok(["list"], { env })).toContain("own");
  const changes = [
    ["complete", id],
    ["create", "child"],
    ["comment", id, "hello"],
    ["answer", id, "hello"],
    ["hold", id],
    ["retry", id],
    ["purge", id],
    ["gc"],
    ["pause"],
    ["dispatch"],
    ["daemon"],
    ["reassign", id, "coder"],
    ["unguard", id],
    ["boards", "create", "ops"],
    ["boards", "rm", "default"],
    ["boards", "rename", "default", "Mine"],
    ["import", "/nowhere"],
  ];
  const before = await line.ok(["export"]);
  for (const words of changes)
    expect((await line.run(words, { env })).failure?.code, words.join(" ")).toMatch(
      /^(board-action-denied|run-superseded)$/,
    );
  expect(await line.ok(["export"])).toBe(before);
});
