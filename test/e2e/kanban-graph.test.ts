import { describe, test } from "vitest";
import { openTaskGraph } from "../support/task-graph.ts";

const LIMIT = 1_800_000;
const MAX_RETRIES = 50; // otherwise the many kills would exceed the failures that a task may have

describe("three profiles complete dependent tasks", () => {
  test(
    "with workers, supervisors and daemons killed at random, each task is done by exactly one run",
    async () => {
      await using graph = await openTaskGraph({ maxRetries: MAX_RETRIES });
      await graph.completeAll(1, graph.killRandomly);
    },
    LIMIT,
  );

  test(
    "after all processes are killed at once and a daemon is started again, each task is done by exactly one run",
    async () => {
      await using graph = await openTaskGraph();
      await graph.workUntilKilled(1);
      await graph.completeAll(1);
    },
    LIMIT,
  );
});
