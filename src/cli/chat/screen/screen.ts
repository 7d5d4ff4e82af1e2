import { cutStyled, styledWidth } from "./styled-width.ts";

/** The rows at the bottom of the terminal that are redrawn, and the position of the cursor in them. */
export interface LiveArea {
  readonly rows: readonly string[];
  readonly caret: { readonly row: number; readonly column: number };
}

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/**
 * Appends finished lines to the terminal and redraws a small live area below them. A finished line belongs to the
 * terminal, which scrolls, selects and rewraps it; the screen never touches it again.
 */
export interface Screen {
  show(lines: readonly string[], live: LiveArea): void;
  /** Appends lines and redraws the live area after the window has changed its size. */
  resize(lines: readonly string[], live: LiveArea): void;
  /** Removes the live area; the cursor stays at its top. */
  clear(): void;
}

export interface ScreenParts {
  write(text: string): void;
  size(): ScreenSize;
  /** Whether the terminal rewraps long lines when it becomes narrower. */
  readonly rewraps: boolean;
  /** The live area that is already on the terminal. */
  readonly drawn?: LiveArea | undefined;
}

const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
const ERASE_RIGHT = "\u001b[K";
const ERASE_BELOW = "\u001b[J";

const NOTHING: LiveArea = { rows: [], caret: { row: 0, column: 0 } };

export function createScreen({ write, size, rewraps, drawn: initial = NOTHING }: ScreenParts): Screen {
  let drawn = initial;

  /** Live rows end before the last column, where terminals disagree about wrapping. */
  function cutRows({ rows, caret }: LiveArea): LiveArea {
    const width = Math.max(1, size().columns - 1);
    return {
      rows: rows.map((row) => cutStyled(row, width)),
      caret: { row: caret.row, column: Math.min(caret.column, width) },
    };
  }

  function moveToCaret({ rows, caret }: LiveArea): string {
    return `${cursorUp(rows.length - 1 - caret.row)}\r${cursorRight(caret.column)}`;
  }

  function redraw(lines: readonly string[], live: LiveArea, toTop: string): void {
    const { columns } = size();
    // Only the rows of the last live area have something to erase; those below them are empty.
    const erase = (row: number): string => (row < drawn.rows.length ? ERASE_RIGHT : "");
    const above = lines.map((line, row) => `${line}${fills(line, columns) ? "" : erase(row)}\r\n`).join("");
    const below = live.rows.map((row, index) => row + erase(lines.length + index)).join("\r\n");
    write(`${HIDE_CURSOR}${toTop}${above}${below}${ERASE_BELOW}${moveToCaret(live)}${SHOW_CURSOR}`);
    drawn = live;
  }

  /** Overwrites only the rows that differ. */
  function redrawChanged(live: LiveArea): void {
    let text = "";
    let at = drawn.caret.row;
    for (const [index, row] of live.rows.entries()) {
      if (row === drawn.rows[index]) continue;
      text += `${moveCursor(index - at)}\r${row}${ERASE_RIGHT}`;
      at = index;
    }
    const isMoved = live.caret.row !== drawn.caret.row || live.caret.column !== drawn.caret.column;
    if (text === "" && !isMoved) return;
    write(
      `${HIDE_CURSOR}${text}${moveCursor(live.caret.row - at)}\r${cursorRight(live.caret.column)}${SHOW_CURSOR}`,
    );
    drawn = live;
  }

  return {
    show(lines, wanted) {
      const live = cutRows(wanted);
      if (lines.length === 0 && live.rows.length === drawn.rows.length) redrawChanged(live);
      else redraw(lines, live, `\r${cursorUp(drawn.caret.row)}`);
    },
    resize(lines, wanted) {
      const { columns } = size();
      const rowsOf = (row: string): number =>
        rewraps ? Math.max(1, Math.ceil(styledWidth(row) / columns)) : 1;
      const before = drawn.rows.slice(0, drawn.caret.row).reduce((sum, row) => sum + rowsOf(row), 0);
      const within = rewraps ? Math.floor(drawn.caret.column / columns) : 0;
      redraw(lines, cutRows(wanted), `\r${cursorUp(before + within)}${ERASE_BELOW}`);
    },
    clear() {
      write(`\r${cursorUp(drawn.caret.row)}${ERASE_BELOW}`);
      drawn = NOTHING;
    },
  };
}

/** Whether a line ends in the last column. Erasing there would remove its last character. */
function fills(line: string, columns: number): boolean {
  const width = styledWidth(line);
  return width > 0 && width % columns === 0;
}

function cursorUp(rows: number): string {
  return rows > 0 ? `\u001b[${rows}A` : "";
}

function cursorRight(columns: number): string {
  return columns > 0 ? `\u001b[${columns}C` : "";
}

function moveCursor(rows: number): string {
  return rows > 0 ? `\u001b[${rows}B` : cursorUp(-rows);
}
