import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openKanbanCli } from "../../../../test/support/kanban-line.ts";
import type { Task } from "../../../board/task.ts";

test("with HERMES_KANBAN_TASK set and no open run, the command line can read but not change the board", async () => {
  await using cli = await openKanbanCli();
  const { id } = await cli.json<Task>(["create", "own"]);
  const { id: other } = await cli.json<Task>(["create", "other"]);
  await cli.ok(["attach", id, fileURLToPath(import.meta.url)]);
  const env = { HERMES_KANBAN_TASK: id, HERMES_KANBAN_RUN_ID: "7" };
  expect(await cli.ok(["list"], { env })).toContain("own");
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
    ["link", other, id],
    ["unlink", other, id],
    ["attach", other, fileURLToPath(import.meta.url)],
    ["attach-rm", id, "1"],
    ["repair"],
    ["boards", "use", "default"],
  ];
  const before = await cli.ok(["export"]);
  for (const words of changes) {
    const { failure } = await cli.run(words, { env });
    expect(failure?.code, words.join(" ")).toMatch(/^(board-action-denied|run-superseded)$/);
    expect(`${failure?.message} ${failure?.hint}`).not.toMatch(/unset|HERMES_|elsewhere|t_[0-9a-f]{12}/i);
    expect(failure?.hint, words.join(" ")).not.toContain("--board");
  }
  const { failure } = await cli.run(["--board", "default", "comment", id, "hello"], { env });
  expect(failure?.hint).toContain("Omit --board.");
  expect(await cli.ok(["export"])).toBe(before);
});
