import { expect, test } from "vitest";
import { parseLoad } from "./container-load.ts";

const ID = "b571ec86853c502d1b2e6407b5a566ff4aaba40e6e8d6b50fc77efa3e884d9ff";
const ESCAPES = "\u001b[2J\u001b[H";

test("a line of Docker's stats has the load in processors, bytes and processes", () => {
  expect(parseLoad(`${ESCAPES}b571ec86853c|150.00%|508KiB / 64MiB|3`, [ID])).toEqual({
    ...{ id: ID, memoryBytes: 520_192, processes: 3 },
    cpus: 1.5,
  });
});

test("a line of Podman's stats has decimal units", () => {
  const sample = parseLoad("b571ec86853c|45.00%|2.318MB / 25.28GB|1", [ID]);
  expect(sample).toEqual({ id: ID, cpus: 0.45, memoryBytes: 2_318_000, processes: 1 });
});

test("a container without values and one that was not asked for have no sample", () => {
  expect(parseLoad("b571ec86853c|--|-- / --|--", [ID])).toBeUndefined();
  expect(parseLoad("aaaaaaaaaaaa|1.00%|1MiB / 2MiB|1", [ID])).toBeUndefined();
});
