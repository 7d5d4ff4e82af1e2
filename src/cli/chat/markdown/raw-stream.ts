import { escapeControls } from "../../terminal/escape-controls.ts";
import { foldText } from "../../terminal/fit-text.ts";
import type { MarkdownStream } from "./markdown-stream.ts";

/** Returns markdown line by line as the model wrote it; the terminal wraps it. */
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
