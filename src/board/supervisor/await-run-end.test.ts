import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { boardPath } from "../board-slug.ts";
import type { Run } from "../task.ts";
import { awaitRunEnd } from "./await-run-end.ts";

test("the end of a run is noticed even if it becomes visible long after the last change of the board's file", async () => {
  await using folder = await tempFolder();
  const path = boardPath(folder.path, "default");
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, "");
  const location = { root: folder.path, databaseUrl: "", slug: "default" };
  let polls = 0;
  const findRun = async () => ({ ended_at: ++polls > 3 ? 1 : null }) as Run;
  await awaitRunEnd({ location, run: { runId: 1 } as never }, { findRun }, neverAborted);
  expect(polls).toBe(4);
});
