import { expect, test } from "vitest";
import { conformanceTable } from "./conformance-table.ts";

const result = (environment: string, title: string, status: string) => ({
  ancestorTitles: ["real parts", `${environment} keeps the contract of files`],
  title,
  status,
});

const tableOf = (...results: ReturnType<typeof result>[]) =>
  conformanceTable({ testResults: [{ assertionResults: results }] });

test("a behaviour is a line, an environment a column, and a skip is shown as such", () => {
  const { text, isGreen } = tableOf(
    result("local", "a write is whole", "passed"),
    result("ssh", "a write is whole", "pending"),
    result("ssh", "a read is whole", "passed"),
  );
  const shape = text.split("\n").map((line) => line.replace(/ {2,}/g, " | "));
  expect(shape).toEqual([
    "FILES | local | ssh",
    "a write is whole | ok | skip",
    "a read is whole | ok",
    "",
    "local: 1 ok, 0 failed, 0 skipped",
    "ssh: 1 ok, 0 failed, 1 skipped",
  ]);
  expect(isGreen).toBe(true);
});

test("it is green only when something passed and nothing failed; an environment that is not here is skipped", () => {
  expect(tableOf(result("local", "x", "passed"), result("ssh", "x", "failed")).isGreen).toBe(false);
  expect(tableOf(result("local", "x", "passed"), result("ssh", "x", "pending")).isGreen).toBe(true);
  expect(tableOf(result("ssh", "x", "pending")).isGreen).toBe(false);
  expect(tableOf().isGreen).toBe(false);
});
