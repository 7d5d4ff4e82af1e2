import { fuzzyFilter } from "@earendil-works/pi-tui";
import { type KeyBindings, typedText } from "../input/key-bindings.ts";
import type { KeyName } from "../input/key-table.ts";

/** One row of a panel. */
export interface PanelRow<Value> {
  readonly value: Value;
  /** The text of the row, computed only when the row is shown. */
  text(): string;
  /** What the filter searches. */
  readonly search: string;
  readonly isDim?: boolean;
}

/** What a panel shows and does. */
export interface PanelParts<Value> {
  readonly title: string;
  readonly rows: readonly PanelRow<Value>[];
  /** The line below the rows, for the marked row. */
  footer(marked: Value | undefined): string;
  onChoose(value: Value): void;
  /** For a panel that asks for a text: Enter without a marked row. */
  onText?(text: string): void;
  /** Other keys on the marked row. */
  onKey?(name: KeyName, value: Value): void;
  /** A slower search for more rows, which follow those that the filter has found. */
  search?(query: string): Promise<readonly PanelRow<Value>[]>;
  readonly query?: string | undefined;
}

export interface PanelView {
  readonly title: string;
  readonly query: string;
  readonly rows: readonly { text(): string; readonly isDim?: boolean }[];
  readonly marked: number;
  readonly total: number;
  readonly footer: string;
}

/** A list in the live area that is filtered by typing. It has all keys until it is closed. */
export interface Panel {
  /** Handles one key. Returns false when the panel must be closed. */
  press(sequence: string, keys: KeyBindings): boolean;
  paste(text: string): void;
  view(): PanelView;
  /** Sets the function that draws the panel again. */
  connect(redraw: () => void): void;
}

export function createPanel<Value>(parts: PanelParts<Value>): Panel {
  let query = parts.query ?? "";
  let marked = 0;
  let redraw: () => void = () => undefined;
  let found = filter();
  searchMore();

  function filter(): readonly PanelRow<Value>[] {
    return query.trim() === "" ? parts.rows : fuzzyFilter([...parts.rows], query, ({ search }) => search);
  }
  /** Appends what the slower search finds, unless the filter has changed since. */
  function searchMore(): void {
    const asked = query;
    if (parts.search === undefined || asked.trim() === "") return;
    parts.search(asked).then(
      (more) => {
        if (query !== asked) return;
        const known = new Set(found.map(({ value }) => value));
        found = [...found, ...more.filter(({ value }) => !known.has(value))];
        redraw();
      },
      () => undefined, // the filter alone still works, and the next key searches again
    );
  }
  function setQuery(text: string): void {
    query = text;
    marked = 0;
    found = filter();
    searchMore();
  }
  const move = (step: number): void => {
    marked = Math.max(0, Math.min(found.length - 1, marked + step));
  };

  /** Returns false when the panel must be closed. */
  function act(name: KeyName): boolean {
    const value = found[marked]?.value;
    switch (name) {
      case "send":
        if (value !== undefined) parts.onChoose(value);
        else if (parts.onText !== undefined) parts.onText(query);
        else return true;
        return false;
      case "stop":
      case "interrupt":
        return false;
      case "up":
        move(-1);
        return true;
      case "down":
        move(1);
        return true;
      case "delete_left":
        setQuery([...query].slice(0, -1).join(""));
        return true;
      case "delete_word_left":
        setQuery(query.replace(/\S*\s*$/, ""));
        return true;
      case "delete_to_start":
        setQuery("");
        return true;
      default:
        if (value !== undefined) parts.onKey?.(name, value);
        return true;
    }
  }

  return {
    press(sequence, keys) {
      const name = keys.read(sequence);
      if (name === "waiting") return true;
      if (name !== undefined) return act(name);
      const text = typedText(sequence);
      if (text !== undefined) setQuery(query + text);
      return true;
    },
    connect(draw) {
      redraw = draw;
    },
    paste: (text) => setQuery(query + text.replace(/\s+/g, " ")),
    view() {
      return {
        ...{ title: parts.title, query, rows: found, marked },
        ...{ total: parts.rows.length, footer: parts.footer(found[marked]?.value) },
      };
    },
  };
}
