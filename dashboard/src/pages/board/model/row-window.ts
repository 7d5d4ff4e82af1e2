export interface RowWindow {
  /** The first row to draw and the one after the last. */
  readonly first: number;
  readonly end: number;
  /** Room above and below the drawn rows, in pixels. */
  readonly above: number;
  readonly below: number;
}

interface Rows {
  readonly count: number;
  /** Height of a row with the gap below it. */
  readonly rowHeight: number;
  readonly scrollTop: number;
  /** How many rows are drawn; enough for the tallest screen. */
  readonly drawn?: number;
}

/** A column with more cards than this is windowed, and its cards have one height. */
export const WINDOWED_FROM = 60;
/** A constant number of rows keeps the document equally large for any number of tasks. */
const DRAWN_ROWS = 30;
/** Rows drawn above the first visible one, so that scrolling up does not show a gap. */
const ROWS_ABOVE = 6;

/** The rows of a long list that are drawn at a scroll position. */
export function rowWindow({ count, rowHeight, scrollTop, drawn = DRAWN_ROWS }: Rows): RowWindow {
  const top = Math.max(0, Math.floor(scrollTop / rowHeight) - ROWS_ABOVE);
  // Moves in steps, so that a small scroll draws nothing again.
  const step = 3;
  const first = Math.max(0, Math.min(top - (top % step), count - drawn));
  const end = Math.min(count, first + drawn + step);
  return { first, end, above: first * rowHeight, below: (count - end) * rowHeight };
}

/** The scroll position that shows a row, or undefined when it is visible already. */
export function scrollToRow(
  index: number,
  { rowHeight, scrollTop, viewHeight }: { rowHeight: number; scrollTop: number; viewHeight: number },
): number | undefined {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  if (top + rowHeight > scrollTop + viewHeight) return top + rowHeight - viewHeight;
  return undefined;
}
