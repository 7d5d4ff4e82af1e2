import { escapeControls } from "../../terminal/escape-controls.ts";
import { foldText } from "../../terminal/fit-text.ts";
import type { MarkdownStream } from "./markdown-stream.ts";

/** Gives out markdown as the model wrote it, line by line; the terminal wraps it. */
export function createRawStream(columns: () => number): MarkdownStream {
  let unfinished = "";
  return {
    push(text) {
      const lines = (unfinished + escapeControls(text)).split("\n");
      unfinished = lines.pop() ?? "";
      return lines;
    },
    tail: () => (unfinished === "" ? [] : foldText(unfinished, columns() - 1)),
    end() {
      const last = unfinished;
      unfinished = "";
      return last === "" ? [] : [last];
    },
  };
}
