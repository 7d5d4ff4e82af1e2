import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openKanbanCli } from "../../../../test/support/kanban-line.ts";
import { openOwnDatabase } from "../../../../test/support/own-database.ts";
import { describeWith } from "../../../../test/support/services.ts";
import type { Task } from "../../../board/task.ts";

describeWith("postgres", "a database that the root home configures", ({ url }) => {
  test("holds the boards of every profile that does not configure another one", {
    timeout: 120_000,
  }, async () => {
    await using database = await openOwnDatabase(url);
    await using cli = await openKanbanCli();
    const home = join(cli.home, "profiles", "coder");
    await mkdir(home, { recursive: true, mode: 0o700 });
    await writeFile(join(cli.home, ".env"), `HERMES_KANBAN_DATABASE_URL=${database.url}\n`, { mode: 0o600 });
    await cli.ok(["create", "in the database"]);

    const env = { HERMES_HOME: home };
    expect(await cli.ok(["list"], { env })).toContain("in the database");

    await writeFile(join(home, ".env"), "HERMES_KANBAN_DATABASE_URL=\n", { mode: 0o600 });
    expect(await cli.json<Task[]>(["list"], { env })).toEqual([]);
  });
});
