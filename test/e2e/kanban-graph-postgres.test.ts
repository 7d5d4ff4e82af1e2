import { test } from "vitest";
import { openOwnDatabase } from "../support/own-database.ts";
import { describeWith } from "../support/services.ts";
import { openTaskGraph } from "../support/task-graph.ts";

const LIMIT = 1_800_000;
const PATIENT = 50; // kills without end would else use up the failures that a task may have

describeWith("postgres", "three profiles on PostgreSQL", ({ url }) => {
  test(
    "with two daemons and kills, each task is done by exactly one run",
    async () => {
      await using database = await openOwnDatabase(url);
      await using graph = await openTaskGraph({ databaseUrl: database.url, maxRetries: PATIENT });
      await graph.workOff(2, graph.killRandomly);
    },
    LIMIT,
  );

  test(
    "with everything killed at one instant and two daemons started again, each is done by exactly one run",
    async () => {
      await using database = await openOwnDatabase(url);
      await using graph = await openTaskGraph({ databaseUrl: database.url });
      await graph.workUntilKilled(2);
      await graph.workOff(2);
    },
    LIMIT,
  );
});
