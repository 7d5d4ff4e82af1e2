import type { ChatWindow } from "./chat-window.ts";

/** A chat window that another kind can replace once the settings are loaded. */
export interface WindowHolder extends ChatWindow {
  /** Closes the window, opens another one and moves the draft to it. */
  replace(open: () => ChatWindow): void;
}

export function createWindowHolder(first: ChatWindow): WindowHolder {
  let window = first;
  return {
    replace(open) {
      const draft = window.draft();
      window[Symbol.dispose]();
      window = open();
      if (draft !== "") window.setDraft(draft);
    },
    show: (state, entries) => window.show(state, entries),
    draft: () => window.draft(),
    setDraft: (text) => window.setDraft(text),
    clearDraft: () => window.clearDraft(),
    paste: (text) => window.paste(text),
    get display() {
      return window.display;
    },
    clearScreen: (scrollback) => window.clearScreen(scrollback),
    stash: () => window.stash(),
    loadHistory: (entries) => window.loadHistory(entries),
    searchHistory: () => window.searchHistory(),
    openPanel: (panel) => window.openPanel(panel),
    write: (text) => window.write(text),
    columns: () => window.columns(),
    lend: (action) => window.lend(action),
    suspend: () => window.suspend(),
    redraw: () => window.redraw(),
    [Symbol.dispose]: () => window[Symbol.dispose](),
  };
}
