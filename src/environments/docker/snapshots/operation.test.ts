import { mkdir, readdir, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { never } from "../../../../test/support/docker.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { beginOperation, hasOperations, listOperations, removeUnbegun } from "./operation.ts";

const about = { kind: "restore", task: "default", key: "p-1" } as const;
const MINUTE_MS = 60_000;

test("an operation is there with its record or not at all, so that nobody takes a dead one for one that begins", async () => {
  await using folder = await tempFolder();
  const place = { sandboxesFolder: folder.path, profileId: "p" };
  const first = await beginOperation(place, "first", about, never);
  const work = dirname(first.folder);
  const seen: string[][] = [];
  let isOver = false;
  const looking = (async () => {
    while (!isOver) for (const name of await readdir(work)) seen.push(await readdir(join(work, name)));
  })();
  for (let turn = 1; turn <= 20; turn++) await beginOperation(place, `next-${turn}`, about, never);
  isOver = true;
  await looking;
  for (const names of seen) expect(names).toContain("operation.json");
  expect(await listOperations(place, Date.now(), never)).toHaveLength(21);
});

test("what a process left that died while it began is removed when it is old enough", async () => {
  await using folder = await tempFolder();
  const place = { sandboxesFolder: folder.path, profileId: "p" };
  const operation = await beginOperation(place, "whole", about, never);
  const beginning = join(dirname(dirname(operation.folder)), "beginning");
  const left = join(beginning, "half");
  await mkdir(left);
  await operation.end();
  expect(await hasOperations(place)).toBe(false);
  await removeUnbegun(place, Date.now());
  expect(await readdir(beginning)).toEqual(["half"]);
  const longAgo = new Date(Date.now() - 16 * MINUTE_MS);
  await utimes(left, longAgo, longAgo);
  await removeUnbegun(place, Date.now());
  expect(await readdir(beginning)).toEqual([]);
});
