/** As much of vitest's JSON report as the end of a run needs. */
export interface RunReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly { readonly meta?: { readonly isOutOfTime?: boolean } }[];
  }[];
}

const SHOWN = 10;

/** The files that took longest, and those of which something was not run because time was up. */
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
    ...(late.length === 0 ? [] : ["NOT RUN, because the time for it was used up:"]),
    ...late.map(({ name, notRun }) => `${notRun} ${notRun === 1 ? "test" : "tests"} of ${name}`),
  ];
}
