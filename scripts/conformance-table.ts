/** The fields of vitest's JSON report that the table uses. */
export interface TestReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: string;
    }[];
  }[];
}

const SUITE = /^(.+) keeps the contract of (.+)$/;
const SHOWN: Readonly<Record<string, string>> = { passed: "ok", failed: "FAILED" };
const SKIPPED = "skip";
const TITLE_WIDTH = 90;

/** Renders a line per behaviour and a column per environment. A cell is empty if the environment has no such test. */
export function conformanceTable(report: TestReport): { readonly text: string; readonly isGreen: boolean } {
  const suites = new Map<string, Map<string, Map<string, string>>>();
  const environments = new Set<string>();
  for (const { assertionResults } of report.testResults) {
    for (const { ancestorTitles, title, status } of assertionResults) {
      const [, environment, suite] =
        ancestorTitles.map((name) => SUITE.exec(name)).find((match) => match !== null) ?? [];
      if (environment === undefined || suite === undefined) continue;
      environments.add(environment);
      const rows = suites.get(suite) ?? new Map<string, Map<string, string>>();
      const cells = rows.get(title) ?? new Map<string, string>();
      suites.set(suite, rows.set(title, cells.set(environment, SHOWN[status] ?? SKIPPED)));
    }
  }
  const columns = [...environments].toSorted();
  const cell = (text: string, column: string): string => text.padEnd(Math.max(column.length, 6));
  const line = (title: string, cells: readonly string[]): string =>
    [cut(title).padEnd(TITLE_WIDTH), ...cells].join("  ").trimEnd();
  const lines: string[] = [];
  const totals = new Map(columns.map((column) => [column, { ok: 0, other: 0, skipped: 0 }]));
  for (const [suite, rows] of suites) {
    lines.push(
      line(
        suite.toUpperCase(),
        columns.map((column) => cell(column, column)),
      ),
    );
    for (const [title, cells] of rows) {
      const shown = columns.map((column) => {
        const state = cells.get(column) ?? "";
        const total = totals.get(column);
        if (total && state === "ok") total.ok++;
        else if (total && state === SKIPPED) total.skipped++;
        else if (total && state !== "") total.other++;
        return cell(state, column);
      });
      lines.push(line(title, shown));
    }
    lines.push("");
  }
  for (const [column, { ok, other, skipped }] of totals)
    lines.push(`${column}: ${ok} ok, ${other} failed, ${skipped} skipped`);
  return {
    text: lines.join("\n"),
    isGreen:
      [...totals.values()].some(({ ok }) => ok > 0) && [...totals.values()].every(({ other }) => other === 0),
  };
}

function cut(title: string): string {
  return title.length <= TITLE_WIDTH ? title : `${title.slice(0, TITLE_WIDTH - 1)}…`;
}
