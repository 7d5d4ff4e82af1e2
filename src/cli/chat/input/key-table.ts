/** One action and its keys. Settings, help, hints and the status line read this table, so they always agree with it. */
export interface KeyRow {
  readonly keys: readonly string[];
  readonly description: string;
  /** The sequence to pass to the editor, if the editor carries out the action. */
  readonly editor?: string;
}

/** All keys by their names in `display.keys`. Two keys with a space between them are pressed one after the other. */
export const KEY_TABLE = {
  // Before `send`, because a line feed also counts as Enter.
  new_line: { keys: ["ctrl+j", "alt+enter", "shift+enter"], description: "new line", editor: "\n" },
  send: { keys: ["enter"], description: "send, or queue while a turn runs" },
  stop: { keys: ["escape"], description: "close a panel, stop the turn; twice: clear the draft" },
  interrupt: { keys: ["ctrl+c"], description: "clear the draft, stop the turn; twice: leave" },
  leave: { keys: ["ctrl+d"], description: "delete right; on an empty line, twice: leave" },
  suspend: { keys: ["ctrl+z"], description: "suspend the chat" },
  redraw: { keys: ["ctrl+l"], description: "redraw the live area" },
  up: { keys: ["up"], description: "line up, history, take a queued message back" },
  down: { keys: ["down"], description: "line down, history" },
  search: { keys: ["ctrl+r"], description: "search the history" },
  editor: { keys: ["ctrl+g", "ctrl+x ctrl+e"], description: "write the message in $VISUAL or $EDITOR" },
  stash: { keys: ["ctrl+s"], description: "set the draft aside or bring it back" },
  complete: {
    keys: ["tab"],
    description: "complete /command and @file; with a question: draft aside and back",
  },
  mode: { keys: ["shift+tab"], description: "next approval mode" },
  palette: { keys: ["ctrl+p"], description: "commands, models and sessions in one list" },
  output: { keys: ["ctrl+o"], description: "last output in the pager; on a folded paste: unfold it" },
  paste: { keys: ["ctrl+v", "alt+v"], description: "image or text of the clipboard" },
  left: { keys: ["left", "ctrl+b"], description: "left", editor: "\u001b[D" },
  right: { keys: ["right", "ctrl+f"], description: "right", editor: "\u001b[C" },
  word_left: { keys: ["alt+b", "alt+left", "ctrl+left"], description: "word left", editor: "\u001bb" },
  word_right: { keys: ["alt+f", "alt+right", "ctrl+right"], description: "word right", editor: "\u001bf" },
  line_start: { keys: ["ctrl+a", "home"], description: "start of the line", editor: "\u0001" },
  line_end: { keys: ["ctrl+e", "end"], description: "end of the line", editor: "\u0005" },
  delete_left: { keys: ["backspace", "shift+backspace"], description: "delete left", editor: "\u007f" },
  delete_right: { keys: ["delete", "shift+delete"], description: "delete right", editor: "\u001b[3~" },
  delete_word_left: {
    keys: ["ctrl+w", "alt+backspace"],
    description: "delete the word left",
    editor: "\u0017",
  },
  delete_word_right: {
    keys: ["alt+d", "alt+delete"],
    description: "delete the word right",
    editor: "\u001bd",
  },
  delete_to_start: { keys: ["ctrl+u"], description: "delete to the start of the line", editor: "\u0015" },
  delete_to_end: { keys: ["ctrl+k"], description: "delete to the end of the line", editor: "\u000b" },
  yank: { keys: ["ctrl+y"], description: "insert what was deleted", editor: "\u0019" },
  yank_pop: {
    keys: ["alt+y"],
    description: "after yank: insert what was deleted before that",
    editor: "\u001by",
  },
  undo: { keys: ["ctrl+_"], description: "undo", editor: "\u001f" },
} as const satisfies Readonly<Record<string, KeyRow>>;

export type KeyName = keyof typeof KEY_TABLE;
export const KEY_NAMES = Object.keys(KEY_TABLE) as readonly KeyName[];
