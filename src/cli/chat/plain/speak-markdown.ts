import { createColors } from "picocolors";
import { splitRow } from "../markdown/format-table.ts";
import { inlineSpans } from "../markdown/inline-spans.ts";
import type { DisplayState } from "../window/printer.ts";

const PLAIN = createColors(false);

/** Turns markdown that arrives in pieces into whole lines for a screen reader, each with a label such as `code:`. */
export interface MarkdownSpeaker {
  push(text: string): string[];
  end(): string[];
}

export function createMarkdownSpeaker(display: Pick<DisplayState, "isRaw">): MarkdownSpeaker {
  let unfinished = "";
  let fence: string | undefined;
  let table: string[] = [];

  function speak(line: string): string[] {
    if (display.isRaw) return line.trim() === "" ? [] : [`hermes: ${line}`];
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark === undefined || !mark.startsWith(fence)) return [`code: ${line}`];
      fence = undefined;
      return [];
    }
    if (mark !== undefined) {
      fence = mark;
      return [];
    }
    if (line.trim().startsWith("|")) {
      table.push(line);
      return [];
    }
    const text = plainText(line.replace(/^#+ /, ""));
    return [...endTable(), ...(text.trim() === "" ? [] : [`hermes: ${text}`])];
  }
  /** The rows of the table, in which the header precedes each cell. */
  function endTable(): string[] {
    const [header = [], , ...rows] = table.map(splitRow);
    table = [];
    return rows.map(
      (cells) =>
        `hermes: ${cells.map((cell, at) => `${plainText(header[at] ?? "")}: ${plainText(cell)}`).join(", ")}`,
    );
  }
  return {
    push(text) {
      const lines = (unfinished + text).split("\n");
      unfinished = lines.pop() ?? "";
      return lines.flatMap(speak);
    },
    end() {
      const last = unfinished === "" ? [] : speak(unfinished);
      unfinished = "";
      fence = undefined;
      return [...last, ...endTable()];
    },
  };
}

function plainText(text: string): string {
  return inlineSpans(text, PLAIN)
    .map((span) => span.text)
    .join("");
}
