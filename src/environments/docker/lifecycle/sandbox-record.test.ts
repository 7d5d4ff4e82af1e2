import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import type { Engine } from "../engine/engine.ts";
import { recordSandbox } from "./sandbox-record.ts";

test("writing a record removes old temporary files of killed processes, but no file that may still be written", async () => {
  await using folder = await tempFolder();
  const store = { sandboxesFolder: folder.path, profileId: "p" };
  await mkdir(folder.file("records"));
  const hourAgo = new Date(Date.now() - 3_600_000);
  await writeFile(folder.file("records/.old.1a2b.tmp"), "");
  await utimes(folder.file("records/.old.1a2b.tmp"), hourAgo, hourAgo);
  await writeFile(folder.file("records/.new.1a2b.tmp"), "");
  const id = "a".repeat(64);
  const engine = { binary: "docker", env: {} } as unknown as Engine;
  await recordSandbox(engine, store, { id, task: "default" });
  expect((await readdir(folder.file("records"))).toSorted()).toEqual([".new.1a2b.tmp", `${id}.json`]);
});
