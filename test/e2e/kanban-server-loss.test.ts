import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openKanbanCli } from "../support/kanban-line.ts";
import { openOwnPostgres } from "../support/own-postgres.ts";
import { scale } from "../support/scale.ts";
import { describeWith } from "../support/services.ts";
import { openTaskGraph } from "../support/task-graph.ts";

describeWith("postgres", "a PostgreSQL server that is killed and started again under load", (shared) => {
  test("only delays the tasks: each is done by exactly one run", async () => {
    await using server = await openOwnPostgres(shared);
    await using graph = await openTaskGraph({ databaseUrl: server.url });
    await graph.completeAll(2, async (signal) => {
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

  test("does not end watch, which then prints each missed event once", async () => {
    await using server = await openOwnPostgres(shared);
    await using cli = await openKanbanCli();
    const env = { HERMES_KANBAN_DATABASE_URL: server.url };
    const stop = new AbortController();
    let [seen, notes] = ["", ""];
    const watching = cli
      .run(["watch", "--interval", "0.05"], {
        env,
        signal: stop.signal,
        onPrint(text) {
          seen += text;
          if (text.includes("second")) stop.abort();
        },
        onNote(text) {
          notes += text;
        },
      })
      .catch(() => undefined);
    await expect.poll(() => notes, { timeout: 60_000 }).toContain("Watching");
    await cli.ok(["create", "first"], { env });
    await expect.poll(() => seen, { timeout: 60_000 }).toContain("first");
    await server.kill();
    await expect.poll(() => notes, { timeout: 60_000 }).toContain("Retrying until");
    await server.start();
    await cli.ok(["create", "second"], { env });
    await watching;
    expect(seen.match(/: created by alice/g)).toHaveLength(2);
    expect(notes).toContain("the board is available again");
  }, 300_000);
});
