/** The cards that the keyboard can reach: the open columns, each with its loaded cards in order. */
export type CardGrid = readonly (readonly string[])[];

export type BoardAction =
  | { readonly kind: "focus"; readonly id: string }
  | {
      readonly kind:
        | "open"
        | "move"
        | "assign"
        | "select"
        | "edit"
        | "actions"
        | "select-range-up"
        | "select-range-down";
      readonly id: string;
    }
  | { readonly kind: "priority"; readonly id: string; readonly priority: number };

export interface PressedKey {
  readonly key: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

const DIRECTIONS: Readonly<Record<string, readonly [columns: number, rows: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  h: [-1, 0],
  l: [1, 0],
  k: [0, -1],
  j: [0, 1],
};

const LETTERS = {
  m: "move",
  a: "assign",
  x: "select",
  e: "edit",
  ".": "actions",
} as const satisfies Record<string, BoardAction["kind"]>;

/** Rows that Page Up and Page Down skip. */
const PAGE_ROWS = 8;

/**
 * The action of a key on the focused card; undefined if it has none. With `letters` off, keys that type a character have no
 * action, as WCAG 2.1.4 demands.
 */
export function actionOf(
  pressed: PressedKey,
  grid: CardGrid,
  focused: string,
  letters: boolean,
): BoardAction | undefined {
  if (pressed.ctrlKey || pressed.metaKey || pressed.altKey) return undefined;
  const { key } = pressed;
  if (pressed.shiftKey && (key === "ArrowUp" || key === "ArrowDown"))
    return { kind: key === "ArrowUp" ? "select-range-up" : "select-range-down", id: focused };
  const isLetter = key.length === 1 && key !== " ";
  if (isLetter && !letters) return undefined;
  const direction = DIRECTIONS[key];
  if (direction !== undefined) return focus(step(grid, focused, ...direction));
  const column = grid.find((ids) => ids.includes(focused));
  if (key === "Home") return focus(column?.[0]);
  if (key === "End") return focus(column?.at(-1));
  if (key === "PageDown" || key === "PageUp")
    return focus(step(grid, focused, 0, key === "PageDown" ? PAGE_ROWS : -PAGE_ROWS));
  if (key === "Enter") return { kind: "open", id: focused };
  if (key === " ") return { kind: "select", id: focused };
  if (/^[0-3]$/.test(key)) return { kind: "priority", id: focused, priority: Number(key) };
  const letter = Object.entries(LETTERS).find(([one]) => one === key)?.[1];
  return letter === undefined ? undefined : { kind: letter, id: focused };
}

function focus(id: string | undefined): BoardAction | undefined {
  return id === undefined ? undefined : { kind: "focus", id };
}

/** The card a number of columns or rows away. Sideways, it skips empty columns and stays in the same row if possible. */
export function step(grid: CardGrid, from: string, columns: number, rows: number): string | undefined {
  const column = grid.findIndex((ids) => ids.includes(from));
  const here = grid[column];
  if (here === undefined) return grid.find((ids) => ids.length > 0)?.[0];
  const row = here.indexOf(from);
  if (rows !== 0) {
    const next = here[Math.min(here.length - 1, Math.max(0, row + rows))];
    return next === from ? undefined : next;
  }
  for (let index = column + columns; index >= 0 && index < grid.length; index += columns) {
    const ids = grid[index] ?? [];
    if (ids.length > 0) return ids[Math.min(row, ids.length - 1)];
  }
  return undefined;
}
