import { wrapText } from "./fit-text.ts";
import type { Terminal } from "./terminal.ts";

/** The maximum number of lines of a wrapped cell; the rest is cut. */
const MAX_LINES = 100;

/** Rows as aligned columns. If they do not fit the terminal, the last column moves to its own line. */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { columns, colours }: Terminal,
): string {
  const widths = header.map((_, column) =>
    Math.max(...[header, ...rows].map((row) => (row[column] ?? "").length)),
  );
  const whole = widths.reduce((sum, width) => sum + width + 2, -2);
  if (columns === undefined || whole <= columns) {
    const [first = "", ...rest] = [header, ...rows].map((row) => alignCells(row, widths));
    return [colours.bold(first), ...rest].join("\n");
  }
  return rows
    .map((row) => {
      const facts = row
        .slice(0, -1)
        .filter((cell) => cell !== "")
        .join("  ");
      const last = row.at(-1) ?? "";
      return last === "" ? facts : `${facts}\n    ${wrapText(last, columns - 4, MAX_LINES).join("\n    ")}`;
    })
    .join("\n");
}

function alignCells(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join("  ")
    .trimEnd();
}

/** Prints one line per label and value; a row without a value is skipped. */
export function printFields({ print }: Terminal, rows: readonly (readonly [string, string])[]): void {
  const shown = rows.filter(([, value]) => value !== "");
  const width = Math.max(...shown.map(([label]) => label.length)) + 2;
  for (const [label, value] of shown) print(`${label.padEnd(width)}${value}`);
}
