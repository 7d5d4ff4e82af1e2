import { mkdir, readdir, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { beginOperation, hasOperations, listOperations, removeIncompleteOperations } from "./operation.ts";

const subject = { kind: "restore", task: "default", key: "p-1" } as const;
const MINUTE_MS = 60_000;

test("an operation appears together with its record, so that an abandoned operation is never mistaken for a new one", async () => {
  await using folder = await tempFolder();
  const store = { sandboxesFolder: folder.path, profileId: "p" };
  const first = await beginOperation(store, "first", subject, neverAborted);
  const work = dirname(first.folder);
  const seen: string[][] = [];
  let isDone = false;
  const watchEnd = (async () => {
    while (!isDone) for (const name of await readdir(work)) seen.push(await readdir(join(work, name)));
  })();
  for (let count = 1; count <= 20; count++)
    await beginOperation(store, `next-${count}`, subject, neverAborted);
  isDone = true;
  await watchEnd;
  for (const names of seen) expect(names).toContain("operation.json");
  expect(await listOperations(store, Date.now(), neverAborted)).toHaveLength(21);
});

test("an operation that cannot be started leaves no folder", async () => {
  await using folder = await tempFolder();
  const store = { sandboxesFolder: folder.path, profileId: "p" };
  const operation = await beginOperation(store, "first", subject, neverAborted);
  await expect(beginOperation(store, "first", subject, neverAborted)).rejects.toThrow();
  expect(await readdir(join(dirname(dirname(operation.folder)), "beginning"))).toEqual([]);
});

test("the folder of a process that died while it started an operation is removed when it is old enough", async () => {
  await using folder = await tempFolder();
  const store = { sandboxesFolder: folder.path, profileId: "p" };
  const operation = await beginOperation(store, "whole", subject, neverAborted);
  const beginning = join(dirname(dirname(operation.folder)), "beginning");
  const left = join(beginning, "half");
  await mkdir(left);
  await operation.end();
  expect(await hasOperations(store)).toBe(false);
  await removeIncompleteOperations(store, Date.now());
  expect(await readdir(beginning)).toEqual(["half"]);
  const longAgo = new Date(Date.now() - 16 * MINUTE_MS);
  await utimes(left, longAgo, longAgo);
  await removeIncompleteOperations(store, Date.now());
  expect(await readdir(beginning)).toEqual([]);
});
