export interface RowWindow {
  /** The first row to draw and the one after the last. */
  readonly first: number;
  readonly end: number;
  /** The space above and below the drawn rows, in pixels. */
  readonly above: number;
  readonly below: number;
}

interface Rows {
  readonly count: number;
  /** Height of a row with the gap below it. */
  readonly rowHeight: number;
  readonly scrollTop: number;
  /** How many rows are drawn; by default enough for the tallest screen. */
  readonly drawn?: number;
}

/** In a column with more cards than this, only the visible ones are drawn, all with the same height. */
export const WINDOWED_FROM = 60;
/** A constant number of rows keeps the document small for any number of tasks. */
const DRAWN_ROWS = 30;
/** Rows drawn above the first visible one, so that scrolling up does not show a gap. */
const ROWS_ABOVE = 6;

/** The rows of a long list to draw at a scroll position. */
export function rowWindow({ count, rowHeight, scrollTop, drawn = DRAWN_ROWS }: Rows): RowWindow {
  const top = Math.max(0, Math.floor(scrollTop / rowHeight) - ROWS_ABOVE);
  // It moves in steps, so that a small scroll does not redraw.
  const step = 3;
  const first = Math.max(0, Math.min(top - (top % step), count - drawn));
  const end = Math.min(count, first + drawn + step);
  return { first, end, above: first * rowHeight, below: (count - end) * rowHeight };
}

/** The scroll position that shows a row; undefined if the row is already visible. */
export function scrollToRow(
  index: number,
  { rowHeight, scrollTop, viewHeight }: { rowHeight: number; scrollTop: number; viewHeight: number },
): number | undefined {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  if (top + rowHeight > scrollTop + viewHeight) return top + rowHeight - viewHeight;
  return undefined;
}
