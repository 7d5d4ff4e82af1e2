import { stripVTControlCharacters } from "node:util";
import { CURSOR_MARKER, Editor, type TUI } from "@earendil-works/pi-tui";
import { textWidth } from "../../terminal/fit-text.ts";

/** The text of the input line as it is drawn. */
export interface EditorView {
  readonly rows: readonly string[];
  readonly caret: { readonly row: number; readonly column: number };
}

/** The text of the input line: several lines, undo, kill ring and folded pastes. */
export interface ChatEditor {
  /** Handles one key, given as a sequence of `KEY_TABLE`. */
  press(sequence: string): void;
  type(text: string): void;
  /** Inserts a text as one unit of undo; a long one is folded. */
  paste(text: string): void;
  /** The text with folded pastes in full. */
  text(): string;
  /** The text with the marks of folded pastes, in the form that `set` accepts. */
  folded(): string;
  set(text: string): void;
  isEmpty(): boolean;
  /** The text of the caret's line before the caret. */
  beforeCaret(): string;
  /** Replaces the last characters before the caret. */
  replace(length: number, text: string): void;
  /** Shows the folded paste at the caret in full. Returns whether there was one. */
  unfold(): boolean;
  isOnFirstRow(): boolean;
  isOnLastRow(): boolean;
  view(columns: number): EditorView;
}

/** Pastes of at least this size are folded. */
const FOLD_LINES = 6;
const FOLD_CHARS = 800;
const FOLD = /\[paste #(\d+) (?:\+\d+ lines|\d+ chars)\]/g;
const BACKSPACE = "\u007f";

/** Members of the editor that its types hide; the version of the library is pinned. */
interface HiddenEditorMembers {
  readonly pastes: Map<number, string>;
  pasteCounter: number;
  isOnFirstVisualLine(): boolean;
  isOnLastVisualLine(): boolean;
}

/** The editor of pi-tui without its frame: it draws borders and a cursor of its own, which are removed here. */
export function createEditor({ rows }: { rows(): number }): ChatEditor {
  const plain = (text: string): string => text;
  const host = {
    requestRender: () => undefined,
    terminal: {
      get rows() {
        return rows();
      },
    },
  } as unknown as TUI; // all members that the editor uses
  const editor = new Editor(host, {
    borderColor: plain,
    selectList: {
      selectedPrefix: plain,
      selectedText: plain,
      description: plain,
      scrollInfo: plain,
      noMatch: plain,
    },
  });
  editor.focused = true;
  const hidden = editor as unknown as HiddenEditorMembers;

  const line = (): string => editor.getLines()[editor.getCursor().line] ?? "";
  /** The fold that the caret is in or directly after. */
  const foldAtCaret = () => {
    const { col } = editor.getCursor();
    return [...line().matchAll(FOLD)].find(
      (found) =>
        found.index <= col && col <= found.index + found[0].length && hidden.pastes.has(Number(found[1])),
    );
  };
  const unfold = (): boolean => {
    const fold = foldAtCaret();
    if (fold === undefined) return false;
    editor.setText(editor.getText().replace(fold[0], () => hidden.pastes.get(Number(fold[1])) ?? ""));
    return true;
  };

  return {
    press: (sequence) => editor.handleInput(sequence),
    type: (text) => editor.handleInput(text),
    paste(text) {
      const again = foldAtCaret();
      if (again !== undefined && hidden.pastes.get(Number(again[1])) === text) {
        unfold();
        return;
      }
      const lines = text.split("\n").length;
      // The editor turns tabs into spaces, so a text with tabs keeps them only in a fold.
      if (lines < FOLD_LINES && text.length < FOLD_CHARS && !text.includes("\t")) {
        editor.insertTextAtCursor(text);
        return;
      }
      hidden.pasteCounter++;
      hidden.pastes.set(hidden.pasteCounter, text);
      const size = lines > 1 ? `+${lines} lines` : `${text.length} chars`;
      editor.insertTextAtCursor(`[paste #${hidden.pasteCounter} ${size}]`);
    },
    text: () => editor.getExpandedText(),
    folded: () => editor.getText(),
    set: (text) => editor.setText(text),
    isEmpty: () => editor.getText() === "",
    beforeCaret: () => line().slice(0, editor.getCursor().col),
    replace(length, text) {
      for (let count = 0; count < length; count++) editor.handleInput(BACKSPACE);
      editor.insertTextAtCursor(text);
    },
    unfold,
    isOnFirstRow: () => hidden.isOnFirstVisualLine(),
    isOnLastRow: () => hidden.isOnLastVisualLine(),
    view(columns) {
      const lines = editor.render(Math.max(4, columns - 2)).slice(1, -1);
      const row = lines.findIndex((text) => text.includes(CURSOR_MARKER));
      const before = lines[row]?.split(CURSOR_MARKER)[0] ?? "";
      return {
        rows: lines.map((text) => stripVTControlCharacters(text.replace(CURSOR_MARKER, "")).trimEnd()),
        caret: { row: Math.max(0, row), column: textWidth(stripVTControlCharacters(before)) },
      };
    },
  };
}
