import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openOwnPostgres } from "../support/own-postgres.ts";
import { scale } from "../support/scale.ts";
import { describeWith } from "../support/services.ts";
import { openTaskGraph } from "../support/task-graph.ts";

describeWith("postgres", "a PostgreSQL server that is killed and started again under load", (shared) => {
  test("costs time, but each task is done by exactly one run", async () => {
    await using server = await openOwnPostgres(shared);
    await using graph = await openTaskGraph({ databaseUrl: server.url });
    await graph.workOff(2, async (signal) => {
      for (let loss = 1; loss <= scale.losses; loss++) {
        await expect
          .poll(graph.countDone, { timeout: 600_000, interval: 200 })
          .toBeGreaterThanOrEqual(loss * 3);
        await sleep(Math.random() * 1_000, undefined, { signal });
        await server.kill();
        await sleep(500 + Math.random() * 3_000, undefined, { signal });
        await server.start();
      }
    });
  }, 1_800_000);
});
