/** The fields of vitest's JSON report that the summary uses. */
export interface RunReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    /** The status of the file: a file that could not be loaded has failed without a failed test. */
    readonly status: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly {
      /** The names of the enclosing groups and of the test, including the reason for a skip (test/support/services.ts). */
      readonly fullName: string;
      readonly status: string;
      readonly meta?: { readonly isOutOfTime?: boolean };
    }[];
  }[];
}

/** Counts tests; a file that could not be loaded, and an error outside all tests, count as failures too. */
export function countTests(
  run: RunReport | undefined,
  exitCode: number,
): { readonly passed: number; readonly failed: number; readonly skipped: number } {
  if (run === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const unloaded = run.testResults.filter(
    ({ status, assertionResults }) =>
      status === "failed" && assertionResults.every((test) => test.status !== "failed"),
  ).length;
  const failed = run.numFailedTests + unloaded;
  return {
    passed: run.numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: run.numPendingTests + run.numTodoTests,
  };
}

const SHOWN = 10;
const NOT_RUN = new Set(["pending", "skipped", "todo"]);
const REASON = /\[skipped, ([^\]]+)\]/;

/** How many tests were skipped for each reason. */
function skippedLines(testResults: RunReport["testResults"]): string[] {
  const counts = new Map<string, number>();
  for (const { assertionResults } of testResults) {
    for (const { status, fullName, meta } of assertionResults) {
      if (!NOT_RUN.has(status) || meta?.isOutOfTime) continue;
      const reason =
        REASON.exec(fullName)?.[1] ??
        "not possible on this machine or in this environment; the test gives the reason";
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
  }
  const rows = [...counts].toSorted(([, one], [, other]) => other - one);
  return rows.map(([reason, count]) => `${String(count).padStart(6)} skipped  ${reason}`);
}

/** Lists the slowest files, the skipped tests by reason, and the files with tests that were not run in time. */
export function reportLines({ testResults }: RunReport, root: string): string[] {
  const files = testResults.map(({ name, startTime, endTime, assertionResults }) => ({
    name: name.replace(`${root}/`, ""),
    seconds: (endTime - startTime) / 1_000,
    notRun: assertionResults.filter(({ meta }) => meta?.isOutOfTime).length,
  }));
  const slowest = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, SHOWN);
  const late = files.filter(({ notRun }) => notRun > 0);
  return [
    "slowest files:",
    ...slowest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${name}`),
    ...skippedLines(testResults),
    ...(late.length === 0 ? [] : ["NOT RUN, because the time limit was reached:"]),
    ...late.map(({ name, notRun }) => `${notRun} ${notRun === 1 ? "test" : "tests"} of ${name}`),
  ];
}
