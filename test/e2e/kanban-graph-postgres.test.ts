import { test } from "vitest";
import { openOwnDatabase } from "../support/own-database.ts";
import { describeWith } from "../support/services.ts";
import { openTaskGraph } from "../support/task-graph.ts";

const LIMIT = 1_800_000;
const MAX_RETRIES = 50; // otherwise the many kills would exceed the failures that a task may have

describeWith("postgres", "three profiles on PostgreSQL", ({ url }) => {
  test(
    "with two daemons and kills, each task is done by exactly one run",
    async () => {
      await using database = await openOwnDatabase(url);
      await using graph = await openTaskGraph({ databaseUrl: database.url, maxRetries: MAX_RETRIES });
      await graph.completeAll(2, graph.killRandomly);
    },
    LIMIT,
  );

  test(
    "after all processes are killed at once and two daemons are started again, each task is done by exactly one run",
    async () => {
      await using database = await openOwnDatabase(url);
      await using graph = await openTaskGraph({ databaseUrl: database.url });
      await graph.workUntilKilled(2);
      await graph.completeAll(2);
    },
    LIMIT,
  );
});
