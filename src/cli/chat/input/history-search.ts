import { quoteLine } from "../../terminal/quote-text.ts";
import { createPanel, type Panel, type PanelRow } from "../panel/panel.ts";
import type { HistoryEntry } from "./history.ts";

const FROM = { session: "", folder: "this folder", elsewhere: "elsewhere" } as const;

/** A panel that searches the history and puts the chosen message into the input line. */
export function createHistorySearch(
  entries: readonly HistoryEntry[],
  onChoose: (text: string) => void,
): Panel {
  const rows = entries.map(
    ({ text, from }): PanelRow<string> => ({
      value: text,
      text: () => (from === "session" ? quoteLine(text) : `${quoteLine(text)}  (${FROM[from]})`),
      search: text,
      isDim: from === "elsewhere",
    }),
  );
  return createPanel({
    title: "history",
    rows,
    footer: () => "Enter inserts the message; what you have typed is saved in the history",
    onChoose,
  });
}
