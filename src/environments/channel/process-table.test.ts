import { expect, test } from "vitest";
import { findTree, type ProcessRow, parseProcessRow } from "./process-table.ts";

const row = (pid: number, parent: number, rest: Partial<ProcessRow> = {}): ProcessRow => ({
  pid,
  parent,
  group: pid,
  session: 1,
  startTime: String(1_000 + pid),
  isZombie: false,
  user: 0,
  isMarked: false,
  ...rest,
});
const root = { pid: 10, startTime: "1010" };
const pids = (rows: readonly ProcessRow[]) => rows.map(({ pid }) => pid).toSorted((a, b) => a - b);

test("descendants, the group, the session and marked processes belong to a command, nothing else", () => {
  const rows = [
    row(1, 0),
    row(10, 5),
    row(11, 10),
    row(12, 11),
    row(13, 1, { group: 10 }),
    row(14, 1, { session: 10 }),
    row(15, 1, { isMarked: true }),
    row(16, 15),
    row(20, 1),
    row(21, 20),
  ];
  expect(pids(findTree(rows, root, []))).toEqual([10, 11, 12, 13, 14, 15, 16]);
});

test("F49: another process with the reused pid of the command does not belong to it, nor do its group and children", () => {
  const rows = [
    row(10, 1, { startTime: "9999" }),
    row(11, 10),
    row(12, 1, { group: 10 }),
    row(13, 1, { isMarked: true }),
  ];
  expect(pids(findTree(rows, root, []))).toEqual([13]);
});

test("a known process of a command still belongs to it after its parents exited, but not a process with a reused pid", () => {
  const known = [row(11, 10), row(12, 11)];
  expect(pids(findTree([row(11, 1), row(12, 1, { startTime: "7" })], root, known))).toEqual([11]);
});

test("zombies are not listed, but their children are", () => {
  expect(pids(findTree([row(10, 5, { isZombie: true }), row(11, 10)], root, []))).toEqual([11]);
});

test("an incomplete row is ignored", () => {
  expect(parseProcessRow("12 1 12 12 333 S 0 1")).toMatchObject({
    pid: 12,
    startTime: "333",
    isMarked: true,
    user: 0,
  });
  expect(parseProcessRow("12 1 12 12 333 Z ? 0")).toMatchObject({ isZombie: true, user: undefined });
  expect(parseProcessRow("12 1")).toBeUndefined();
  expect(parseProcessRow("* 1 1 1 1 S 0 0")).toBeUndefined();
});
