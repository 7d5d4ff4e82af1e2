import type { Terminal } from "./terminal.ts";

/** Rows as aligned columns. Where they do not fit the terminal, the last column moves to a line of its own. */
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
    const [first = "", ...rest] = [header, ...rows].map((row) => aligned(row, widths));
    return [colours.bold(first), ...rest].join("\n");
  }
  return rows
    .map((row) => {
      const facts = row
        .slice(0, -1)
        .filter((cell) => cell !== "")
        .join("  ");
      const last = row.at(-1) ?? "";
      return last === "" ? facts : `${facts}\n${wrapped(last, columns - 4)}`;
    })
    .join("\n");
}

function aligned(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, column) => cell.padEnd(widths[column] ?? 0))
    .join("  ")
    .trimEnd();
}

function wrapped(text: string, width: number): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].map((text) => `    ${text}`).join("\n");
}
