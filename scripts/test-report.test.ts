import { expect, test } from "vitest";
import { countTests, reportLines } from "./test-report.ts";

const counts = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 };

test("the slowest files come first, and tests that were not run are listed", () => {
  const file = (name: string, seconds: number, late = 0) => ({
    name: `/root/${name}`,
    startTime: 0,
    endTime: seconds * 1_000,
    status: "passed",
    assertionResults: [
      { fullName: name, status: "passed" },
      ...Array.from({ length: late }, () => ({
        fullName: name,
        status: "skipped",
        meta: { isOutOfTime: true },
      })),
    ],
  });
  const files = [
    file("a", 1),
    file("b", 61.24, 2),
    ...Array.from({ length: 20 }, (_, n) => file(`c${n}`, 3)),
  ];
  const lines = reportLines({ ...counts, testResults: files }, "/root");
  expect(lines.slice(0, 3)).toEqual(["slowest files:", "    61.2 s  b", "     3.0 s  c0"]);
  expect(lines.slice(11)).toEqual(["NOT RUN, because the time limit was reached:", "2 tests of b"]);
});

test("each reason to skip is listed once, with the number of skipped tests", () => {
  const skipped = (fullName: string) => ({ fullName, status: "skipped" });
  const reason = "docker [skipped, docker unavailable: it needs root] says";
  const file = { name: "/root/a", startTime: 0, endTime: 1_000, status: "passed" };
  const lines = reportLines(
    {
      ...counts,
      testResults: [
        { ...file, assertionResults: [skipped(`${reason} one`), skipped("alone")] },
        {
          ...file,
          assertionResults: [
            skipped(`${reason} two [skipped, for another reason]`),
            { fullName: reason, status: "passed" },
          ],
        },
      ],
    },
    "/root",
  );
  expect(lines.slice(3)).toEqual([
    "     2 skipped  docker unavailable: it needs root",
    "     1 skipped  not possible on this machine or in this environment; the test gives the reason",
  ]);
});

test("a file that could not be loaded counts as one more failure, and so does an error outside all tests", () => {
  const file = { name: "a", startTime: 0, endTime: 0 };
  const failing = { ...file, status: "failed", assertionResults: [{ fullName: "x", status: "failed" }] };
  const unloaded = { ...file, status: "failed", assertionResults: [] };
  const run = { ...counts, numPassedTests: 5, numFailedTests: 1, numPendingTests: 2, numTodoTests: 1 };
  expect(countTests({ ...run, testResults: [failing, unloaded] }, 1)).toEqual({
    passed: 5,
    failed: 2,
    skipped: 3,
  });
  expect(countTests({ ...counts, testResults: [] }, 1).failed).toBe(1);
  expect(countTests({ ...counts, testResults: [] }, 0).failed).toBe(0);
  expect(countTests(undefined, 1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});
