import { findTypedReference } from "./complete-draft.ts";
import type { CompletionItem, CompletionSource } from "./completion-list.ts";
import { createCompletionList } from "./completion-list.ts";
import { createEditor, type EditorView } from "./editor.ts";
import { createHistory, type HistoryEntry } from "./history.ts";
import { type KeyBindings, typedText } from "./key-bindings.ts";
import { KEY_TABLE, type KeyName } from "./key-table.ts";

/** An action of a key that the rest of the chat carries out. */
export type KeyAction =
  | Extract<
      KeyName,
      "stop" | "interrupt" | "leave" | "suspend" | "redraw" | "search" | "editor" | "mode" | "palette"
    >
  | "output"
  | "paste"
  | "take-back"
  | "help";

/** The state that the meaning of a key depends on. */
export interface KeySituation {
  readonly hasQueue: boolean;
  readonly hasQuestion: boolean;
}

/** The input line as it is drawn. */
export interface InputView extends EditorView {
  readonly completion: { readonly items: readonly CompletionItem[]; readonly marked: number } | undefined;
  /** The draft that was set aside. */
  readonly stash: string | undefined;
  readonly history: { readonly number: number; readonly from: HistoryEntry["from"] } | undefined;
}

/** The input line: the draft, its history, its stash and its completions. */
export interface InputLine {
  /** Handles one key; returns the action if the rest of the chat has to carry it out. */
  press(sequence: string, situation: KeySituation): KeyAction | undefined;
  paste(text: string): void;
  draft(): string;
  setDraft(text: string): void;
  /** Empties the line; what was typed is saved in the history. */
  clear(): void;
  stash(): string | undefined;
  history(): readonly HistoryEntry[];
  loadHistory(entries: readonly HistoryEntry[]): void;
  view(columns: number): InputView;
}

export interface InputLineParts {
  keys(): KeyBindings;
  rows(): number;
  readonly complete: CompletionSource;
  now(): number;
  /** `startedTypingAt`: when the user started to type the text. */
  onSubmit(text: string, startedTypingAt: number): void;
  /** Stores a message in the history of later chats. */
  onRemember(text: string): void;
  onChange(): void;
}

export function createInputLine(parts: InputLineParts): InputLine {
  const { keys, rows, complete, now, onSubmit, onRemember, onChange } = parts;
  const editor = createEditor({ rows });
  const history = createHistory();
  let stash: string | undefined;
  let startedTypingAt = 0;
  const accept = (item: CompletionItem, typed: string): void => {
    if (item.value.startsWith(typed)) editor.replace(0, item.value.slice(typed.length));
    else editor.replace(typed.length, item.value);
    // After a folder, offer what it contains.
    if (item.value.endsWith("/")) completion.refresh(editor.beforeCaret(), false);
    else completion.close();
  };
  const completion = createCompletionList({ source: complete, onChange, onOnly: accept });

  const begin = (): void => {
    if (editor.isEmpty()) startedTypingAt = now();
  };
  const refresh = (): void => {
    const before = editor.beforeCaret();
    if (/^\//.test(before) || findTypedReference(before) !== undefined) completion.refresh(before, false);
    else completion.close();
  };
  const remember = (text: string): void => {
    history.add(text);
    if (text.trim() !== "") onRemember(text);
  };
  const set = (text: string): void => {
    editor.set(text);
    completion.close();
    startedTypingAt = now();
  };
  function submit(): void {
    if (editor.beforeCaret().endsWith("\\")) {
      editor.replace(1, "\n");
      return;
    }
    const chosen = completion.chosen();
    if (chosen !== undefined) {
      accept(chosen.item, chosen.typed);
      return;
    }
    const text = editor.text();
    const since = startedTypingAt;
    startedTypingAt = 0;
    completion.close();
    remember(text);
    editor.press("\r"); // also clears the folds and the undo history
    onSubmit(text, since);
  }
  function move(step: "up" | "down", { hasQueue }: KeySituation): KeyAction | undefined {
    if (completion.isOpen()) {
      completion.move(step === "up" ? -1 : 1);
      return undefined;
    }
    const isUp = step === "up";
    if (isUp && editor.isEmpty() && hasQueue) return "take-back";
    if (isUp ? !editor.isOnFirstRow() : !editor.isOnLastRow()) {
      editor.press(isUp ? "\u001b[A" : "\u001b[B");
      return undefined;
    }
    const text = isUp ? history.older(editor.folded()) : history.newer(editor.folded());
    if (text !== undefined) {
      begin();
      editor.set(text);
    }
    return undefined;
  }
  function toggleStash(): void {
    const draft = editor.text(); // in full, because sending a message clears the folds
    if (draft === "" && stash === undefined) return;
    const back = stash;
    stash = draft === "" ? undefined : draft;
    set("");
    if (back !== undefined) editor.paste(back);
  }
  function type(text: string): KeyAction | undefined {
    if (text === "?" && editor.isEmpty()) return "help";
    begin();
    editor.type(text);
    refresh();
    return undefined;
  }

  function act(name: KeyName, situation: KeySituation): KeyAction | undefined {
    switch (name) {
      case "send":
        submit();
        return undefined;
      case "up":
      case "down":
        return move(name, situation);
      case "stash":
        toggleStash();
        return undefined;
      case "complete": {
        const marked = completion.marked();
        if (marked !== undefined) accept(marked.item, marked.typed);
        else if (situation.hasQuestion) toggleStash();
        else completion.refresh(editor.beforeCaret(), true);
        return undefined;
      }
      case "stop":
        if (!completion.isOpen()) return "stop";
        completion.close();
        return undefined;
      case "leave":
        if (editor.isEmpty()) return "leave";
        editor.press(KEY_TABLE.delete_right.editor);
        return undefined;
      case "output":
        return editor.unfold() ? undefined : "output";
      case "interrupt":
      case "suspend":
      case "redraw":
      case "search":
      case "editor":
      case "mode":
      case "palette":
      case "paste":
        return name;
      default:
        begin();
        editor.press(KEY_TABLE[name].editor);
        refresh();
        return undefined;
    }
  }

  return {
    press(sequence, situation) {
      const name = keys().read(sequence);
      if (name === "waiting") return undefined;
      if (name !== undefined) return act(name, situation);
      const text = typedText(sequence);
      return text === undefined ? undefined : type(text);
    },
    paste(text) {
      begin();
      editor.paste(text);
      completion.close();
    },
    draft: () => editor.text(),
    setDraft: set,
    clear() {
      remember(editor.text());
      set("");
    },
    stash: () => stash,
    history: history.entries,
    loadHistory: history.load,
    view(columns) {
      return {
        ...editor.view(columns),
        completion: completion.view(),
        stash,
        history: history.position(),
      };
    },
  };
}
