import { cutText, textWidth } from "../../terminal/fit-text.ts";
import { quoteLine } from "../../terminal/quote-text.ts";
import type { Colours } from "../../terminal/terminal.ts";
import type { InputView } from "../input/input-line.ts";
import type { KeyBindings } from "../input/key-bindings.ts";
import type { PanelView } from "../panel/panel.ts";

export interface DrawnRows {
  readonly rows: readonly string[];
  readonly caret: { readonly row: number; readonly column: number };
}

const MAX_COMPLETIONS = 6;
/** The rows of a panel at most, including its title and its line of keys. */
const MAX_PANEL_ROWS = 10;

export function drawCompletion(
  { items, marked }: NonNullable<InputView["completion"]>,
  width: number,
  colours: Colours,
): string[] {
  const first = windowStart(items.length, Math.max(0, marked), MAX_COMPLETIONS);
  const shown = items.slice(first, first + MAX_COMPLETIONS);
  const column = Math.min(32, Math.max(...shown.map(({ value }) => textWidth(value))));
  const hidden = items.length - shown.length;
  return shown.map(({ value, summary }, index) => {
    const isMarked = first + index === marked;
    const more = index === shown.length - 1 && hidden > 0 ? ` (${hidden} more)` : "";
    const line = `${isMarked ? "❯" : " "} ${quoteLine(value).padEnd(column)}  ${summary}${more}`;
    const row = cutText(line.trimEnd(), width);
    return isMarked ? colours.bold(row) : colours.dim(row);
  });
}

/** The title with the filter, the rows around the marked one, and the keys; the caret is in the filter. */
export function drawPanel(
  panel: PanelView,
  keys: KeyBindings,
  room: number,
  width: number,
  colours: Colours,
): DrawnRows {
  const { title, query, rows, marked, total, footer } = panel;
  const close = keys.label("stop");
  const shownCount = total === 0 ? "" : `${rows.length} of ${Math.max(total, rows.length)} · `;
  const count = shownCount + (close === undefined ? "" : `${close} leaves`);
  const head = cutText(`${title}: ${quoteLine(query)}`, width - 1);
  const gap = width - textWidth(head) - textWidth(count);
  const top = gap < 2 ? head : head + " ".repeat(gap) + colours.dim(count);
  const space = Math.max(0, Math.min(room, MAX_PANEL_ROWS) - 1);
  const foot = space > 1 && footer !== "" ? [colours.dim(cutText(`  ${footer}`, width))] : [];
  const shown = space - foot.length;
  const first = windowStart(rows.length, marked, shown);
  const body = rows.slice(first, first + shown).map((row, index) => {
    const isMarked = first + index === marked;
    const text = cutText(`${isMarked ? "❯" : " "} ${row.text()}`, width);
    return isMarked ? colours.bold(text) : row.isDim === true ? colours.dim(text) : text;
  });
  return { rows: [top, ...body, ...foot], caret: { row: 0, column: Math.min(width, textWidth(head)) } };
}

function windowStart(length: number, marked: number, shown: number): number {
  return Math.max(0, Math.min(marked - Math.floor(shown / 2), length - shown));
}
