import { expect, test } from "vitest";
import { reportLines } from "./test-report.ts";

test("the slowest files come first, and what was not run is named", () => {
  const file = (name: string, seconds: number, late = 0) => ({
    name: `/root/${name}`,
    startTime: 0,
    endTime: seconds * 1_000,
    assertionResults: [{}, ...Array.from({ length: late }, () => ({ meta: { isOutOfTime: true } }))],
  });
  const counts = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 };
  const files = [
    file("a", 1),
    file("b", 61.24, 2),
    ...Array.from({ length: 20 }, (_, n) => file(`c${n}`, 3)),
  ];
  const lines = reportLines({ ...counts, testResults: files }, "/root");
  expect(lines.slice(0, 3)).toEqual(["slowest files:", "    61.2 s  b", "     3.0 s  c0"]);
  expect(lines.slice(11)).toEqual(["NOT RUN, because the time for it was used up:", "2 tests of b"]);
});
