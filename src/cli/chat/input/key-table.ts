/** One action and its keys. Settings, help, hints and the status line read this table, so they always agree with it. */
export interface KeyRow {
  readonly keys: readonly string[];
  readonly does: string;
  /** The sequence to pass to the editor, if the editor carries out the action. */
  readonly editor?: string;
}

/** All keys by their names in `display.keys`. Two keys with a space between them are pressed one after the other. */
export const KEY_TABLE = {
  // Before `send`, because a line feed also counts as Enter.
  new_line: { keys: ["ctrl+j", "alt+enter", "shift+enter"], does: "new line", editor: "\n" },
  send: { keys: ["enter"], does: "send, or queue while a turn runs" },
  stop: { keys: ["escape"], does: "close a panel, stop the turn; twice: clear the draft" },
  interrupt: { keys: ["ctrl+c"], does: "clear the draft, stop the turn; twice: leave" },
  leave: { keys: ["ctrl+d"], does: "delete right; on an empty line, twice: leave" },
  suspend: { keys: ["ctrl+z"], does: "suspend the chat" },
  redraw: { keys: ["ctrl+l"], does: "redraw the live area" },
  up: { keys: ["up"], does: "line up, history, take a queued message back" },
  down: { keys: ["down"], does: "line down, history" },
  search: { keys: ["ctrl+r"], does: "search the history" },
  editor: { keys: ["ctrl+g", "ctrl+x ctrl+e"], does: "write the message in $VISUAL or $EDITOR" },
  stash: { keys: ["ctrl+s"], does: "set the draft aside or bring it back" },
  complete: { keys: ["tab"], does: "complete /command and @file; with a question: draft aside and back" },
  mode: { keys: ["shift+tab"], does: "next approval mode" },
  palette: { keys: ["ctrl+p"], does: "commands, models and sessions in one list" },
  output: { keys: ["ctrl+o"], does: "last output in the pager; on a folded paste: unfold it" },
  paste: { keys: ["ctrl+v", "alt+v"], does: "image or text of the clipboard" },
  left: { keys: ["left", "ctrl+b"], does: "left", editor: "\u001b[D" },
  right: { keys: ["right", "ctrl+f"], does: "right", editor: "\u001b[C" },
  word_left: { keys: ["alt+b", "alt+left", "ctrl+left"], does: "word left", editor: "\u001bb" },
  word_right: { keys: ["alt+f", "alt+right", "ctrl+right"], does: "word right", editor: "\u001bf" },
  line_start: { keys: ["ctrl+a", "home"], does: "start of the line", editor: "\u0001" },
  line_end: { keys: ["ctrl+e", "end"], does: "end of the line", editor: "\u0005" },
  delete_left: { keys: ["backspace", "shift+backspace"], does: "delete left", editor: "\u007f" },
  delete_right: { keys: ["delete", "shift+delete"], does: "delete right", editor: "\u001b[3~" },
  delete_word_left: { keys: ["ctrl+w", "alt+backspace"], does: "delete the word left", editor: "\u0017" },
  delete_word_right: { keys: ["alt+d", "alt+delete"], does: "delete the word right", editor: "\u001bd" },
  delete_to_start: { keys: ["ctrl+u"], does: "delete to the start of the line", editor: "\u0015" },
  delete_to_end: { keys: ["ctrl+k"], does: "delete to the end of the line", editor: "\u000b" },
  yank: { keys: ["ctrl+y"], does: "insert what was deleted", editor: "\u0019" },
  yank_pop: { keys: ["alt+y"], does: "after yank: insert what was deleted before that", editor: "\u001by" },
  undo: { keys: ["ctrl+_"], does: "undo", editor: "\u001f" },
} as const satisfies Readonly<Record<string, KeyRow>>;

export type KeyName = keyof typeof KEY_TABLE;
export const KEY_NAMES = Object.keys(KEY_TABLE) as readonly KeyName[];
