import type { IBufferCell, Terminal } from "@xterm/headless";

/** The 16 colours of a terminal with a dark background. */
const COLOURS = [
  ...["#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4"],
  ...["#6b7280", "#ff7b86", "#b5e890", "#ffd68a", "#8cc8ff", "#e29bf5", "#7fdbe8", "#ffffff"],
];
const TEXT = "#d7dae0";
const BACKGROUND = "#1e2127";
const CELL = { width: 8.4, height: 18, size: 14 };
const MARGIN = 14;

interface Run {
  readonly start: number;
  text: string;
  columns: number;
  readonly style: string;
}

/** Draws the visible screen of a terminal as an SVG image, without the empty rows at its end. */
export function screenToSvg(terminal: Terminal, title: string): string {
  const { active } = terminal.buffer;
  const rows = Array.from({ length: terminal.rows }, (_, row) => runsOf(terminal, active.baseY + row));
  while (rows.at(-1)?.length === 0) rows.pop();
  const width = Math.ceil(terminal.cols * CELL.width + 2 * MARGIN);
  const height = Math.ceil(rows.length * CELL.height + 2 * MARGIN);
  const lines = rows.flatMap((runs, row) =>
    runs.map(({ start, text, columns, style }) => {
      const x = (MARGIN + start * CELL.width).toFixed(1);
      const y = (MARGIN + (row + 0.75) * CELL.height).toFixed(1);
      const length = (columns * CELL.width).toFixed(1);
      return `  <text x="${x}" y="${y}" textLength="${length}"${style}>${escapeXml(text)}</text>`;
    }),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
 <title>${escapeXml(title)}</title>
 <rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>
 <g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${CELL.size}" fill="${TEXT}">
${lines.join("\n")}
 </g>
</svg>
`;
}

/** Divides a row into runs of the same style. Viewers collapse spaces, so a run contains only single spaces. */
function runsOf(terminal: Terminal, row: number): readonly Run[] {
  const line = terminal.buffer.active.getLine(row);
  const runs: Run[] = [];
  for (let column = 0; column < terminal.cols; column++) {
    const cell = line?.getCell(column);
    const text = cell?.getChars() ?? "";
    if (cell === undefined || text.trim() === "") continue; // blank, or the second half of a wide character
    const style = styleOf(cell);
    const last = runs.at(-1);
    const gap = last === undefined ? 0 : column - last.start - last.columns;
    if (last?.style === style && gap <= 1) {
      last.text += " ".repeat(gap) + text;
      last.columns += gap + cell.getWidth();
    } else runs.push({ start: column, text, columns: cell.getWidth(), style });
  }
  return runs;
}

function styleOf(cell: IBufferCell): string {
  const colour = cell.isFgPalette() ? COLOURS[cell.getFgColor()] : undefined;
  return [
    colour === undefined ? "" : ` fill="${colour}"`,
    cell.isBold() ? ' font-weight="bold"' : "",
    cell.isItalic() ? ' font-style="italic"' : "",
    cell.isUnderline() ? ' text-decoration="underline"' : "",
    cell.isDim() ? ' opacity="0.6"' : "",
  ].join("");
}

function escapeXml(text: string): string {
  const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[&<>"]/g, (character) => names[character] ?? character);
}
