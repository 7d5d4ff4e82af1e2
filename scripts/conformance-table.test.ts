import { expect, test } from "vitest";
import { conformanceTable } from "./conformance-table.ts";

const result = (environment: string, title: string, status: string) => ({
  ancestorTitles: ["real parts", `${environment} keeps the contract of files`],
  title,
  status,
});

const tableOf = (...results: ReturnType<typeof result>[]) =>
  conformanceTable({ testResults: [{ assertionResults: results }] });

test("each behaviour is a line and each environment a column; a skip is shown as such", () => {
  const { text, isGreen } = tableOf(
    result("local", "a write is atomic", "passed"),
    result("ssh", "a write is atomic", "pending"),
    result("ssh", "a read is complete", "passed"),
  );
  const shape = text.split("\n").map((line) => line.replace(/ {2,}/g, " | "));
  expect(shape).toEqual([
    "FILES | local | ssh",
    "a write is atomic | ok | skip",
    "a read is complete | ok",
    "",
    "local: 1 ok, 0 failed, 0 skipped",
    "ssh: 1 ok, 0 failed, 1 skipped",
  ]);
  expect(isGreen).toBe(true);
});

test("the table is green only if a test passed and none failed; a missing environment is skipped", () => {
  expect(tableOf(result("local", "x", "passed"), result("ssh", "x", "failed")).isGreen).toBe(false);
  expect(tableOf(result("local", "x", "passed"), result("ssh", "x", "pending")).isGreen).toBe(true);
  expect(tableOf(result("ssh", "x", "pending")).isGreen).toBe(false);
  expect(tableOf().isGreen).toBe(false);
});
