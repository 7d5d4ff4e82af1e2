import { describe, test } from "vitest";
import { openTaskGraph } from "../support/task-graph.ts";

const LIMIT = 1_800_000;
const PATIENT = 50; // kills without end would else use up the failures that a task may have

describe("three profiles work off dependent tasks", () => {
  test(
    "with workers, supervisors and daemons killed at random, each is done by exactly one run",
    async () => {
      await using graph = await openTaskGraph({ maxRetries: PATIENT });
      await graph.workOff(1, graph.killRandomly);
    },
    LIMIT,
  );

  test(
    "with everything killed at one instant and a daemon started again, each is done by exactly one run",
    async () => {
      await using graph = await openTaskGraph();
      await graph.workUntilKilled(1);
      await graph.workOff(1);
    },
    LIMIT,
  );
});
