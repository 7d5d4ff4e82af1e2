import { textWidth } from "../../terminal/fit-text.ts";
import type { Colours } from "../../terminal/terminal.ts";
import { inlineSpans } from "./inline-spans.ts";

/** Aligns the columns of a markdown table. A table that does not fit is printed as the model wrote it. */
export function formatTable(lines: readonly string[], width: number, colours: Colours): string[] {
  const rows = lines.map(splitRow);
  const isRuled = /^[\s|:-]+$/.test(lines[1] ?? "x");
  if (!isRuled) return [...lines];
  const cells = rows
    .filter((_, index) => index !== 1)
    .map((row) =>
      row.map((cell) => {
        const spans = inlineSpans(cell, colours);
        return {
          text: spans.map((span) => span.style(span.text)).join(""),
          width: textWidth(spans.map((span) => span.text).join("")),
        };
      }),
    );
  const count = Math.max(...cells.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...cells.map((row) => row[column]?.width ?? 0)),
  );
  if (widths.reduce((sum, one) => sum + one + 2, 0) > width) return [...lines];
  return cells.map((row, index) => {
    const line = row
      .map((cell, column) => cell.text + " ".repeat((widths[column] ?? 0) - cell.width))
      .join("  ")
      .trimEnd();
    return index === 0 ? colours.bold(line) : line;
  });
}

export function splitRow(line: string): string[] {
  return line
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}
