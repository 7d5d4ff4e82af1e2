import { escapeControls } from "../../terminal/escape-controls.ts";
import { textWidth } from "../../terminal/fit-text.ts";
import type { Colours } from "../../terminal/terminal.ts";
import { formatTable } from "./format-table.ts";
import { hasOpenInline, inlineSpans } from "./inline-spans.ts";
import { MAX_PROSE_COLUMNS, type WrappedRow, wrapSpans } from "./wrap-spans.ts";

/** Turns markdown that arrives in pieces into lines. A line is returned once, when nothing that follows can change it. */
export interface MarkdownStream {
  /** Adds text and returns the lines that have become final. */
  push(text: string): string[];
  /** The rows that may still change. */
  tail(): string[];
  /** Ends the text and returns the last lines. */
  end(): string[];
}

export interface MarkdownOptions {
  readonly colours: Colours;
  /** The current width of the terminal. */
  columns(): number;
  /** Whether the chat wraps prose between words; otherwise the terminal does. */
  wrapsProse(): boolean;
  /** Colours one line of code; returns it unchanged for an unknown language. */
  highlight(line: string, language: string): string;
}

/** A source line of this length is returned in parts, because each new piece renders the whole unfinished line again. */
const MAX_UNFINISHED_CHARS = 4_000;

type Fence = { readonly mark: string; readonly language: string };

export function createMarkdownStream({
  colours,
  columns,
  wrapsProse,
  highlight,
}: MarkdownOptions): MarkdownStream {
  let unfinished = ""; // the last source line, until its line end arrives
  let returned = 0; // how many of its words were returned
  let fence: Fence | undefined;
  let table: string[] = [];
  let isAfterBlank = true;

  const proseWidth = (): number =>
    wrapsProse() ? Math.min(columns() - 1, MAX_PROSE_COLUMNS) : Number.POSITIVE_INFINITY;
  const render = (line: string, skipped: number): WrappedRow[] => {
    const { first, rest, text, style } = readLine(line);
    const spans = inlineSpans(text, colours).map((span) =>
      style === undefined ? span : { ...span, style: (word: string) => colours[style](span.style(word)) },
    );
    return wrapSpans(spans, proseWidth(), { first, rest }, skipped);
  };

  const endTable = (): string[] => {
    const lines = table;
    table = [];
    return lines.length === 0 ? [] : formatTable(lines, columns() - 1, colours);
  };

  /** The final lines of one complete source line. */
  function finish(source: string): string[] {
    const line = source.replace(/\r$/, "");
    const already = returned;
    returned = 0;
    if (fence !== undefined) {
      isAfterBlank = false;
      if (line.trim().startsWith(fence.mark) && line.trim().replaceAll(fence.mark[0] ?? "", "") === "") {
        fence = undefined;
        return [colours.dim(line.trim())];
      }
      return [highlight(line, fence.language)];
    }
    const opened = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/.exec(line);
    if (opened !== null) {
      isAfterBlank = false;
      fence = { mark: opened[1] ?? "```", language: (opened[2] ?? "").toLowerCase() };
      return [...endTable(), colours.dim(line.trim())];
    }
    if (/^\s{0,3}\|/.test(line) && already === 0) {
      isAfterBlank = false;
      table.push(line);
      return [];
    }
    const before = endTable();
    if (line.trim() === "") {
      const lines = isAfterBlank ? before : [...before, ""];
      isAfterBlank = true;
      return lines;
    }
    isAfterBlank = false;
    if (/^\s{0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/.test(line)) return [...before, colours.dim("───")];
    return [...before, ...render(line, already).map(({ text }) => text)];
  }

  return {
    push(text) {
      const lines: string[] = [];
      const parts = (unfinished + escapeControls(text)).split("\n");
      unfinished = parts.pop() ?? "";
      for (const part of parts) lines.push(...finish(part));
      // Render only text that is longer than one row, because one row is never final. Most pieces of a stream are shorter.
      const isLong = unfinished.length > MAX_UNFINISHED_CHARS;
      const fitsRow = !isLong && textWidth(unfinished) < proseWidth();
      const isProse = !fitsRow && fence === undefined && !/^\s{0,3}[|`~]/.test(unfinished);
      if (isProse && unfinished !== "" && !hasOpenInline(unfinished)) {
        const end = isLong ? unfinished.lastIndexOf(" ") + 1 || unfinished.length : unfinished.length;
        const rows = render(unfinished.slice(0, end), returned);
        const final = isLong ? rows : rows.slice(0, -1);
        const last = final.at(-1);
        if (last !== undefined) {
          if (table.length > 0) lines.push(...endTable());
          lines.push(...final.map(({ text: row }) => row));
          returned = last.words;
          isAfterBlank = false;
        }
        if (isLong) {
          unfinished = unfinished.slice(end);
          returned = 0;
        }
      }
      return lines;
    },
    tail() {
      if (fence !== undefined) return unfinished === "" ? [] : [highlight(unfinished, fence.language)];
      const rows = unfinished === "" ? [] : render(unfinished, returned);
      return [...table, ...rows.map(({ text }) => text)];
    },
    end() {
      const lines = unfinished === "" ? [] : finish(unfinished);
      unfinished = "";
      const rest = [...lines, ...endTable()];
      fence = undefined;
      isAfterBlank = true;
      return rest;
    },
  };
}

interface BlockLine {
  /** The start of the first row and of the following rows. */
  readonly first: string;
  readonly rest: string;
  readonly text: string;
  readonly style?: "bold" | "dim";
}

/** Splits a source line into its block mark (heading, list, quote) and its text. */
function readLine(line: string): BlockLine {
  const heading = /^\s{0,3}#{1,6}\s+(.*?)\s*#*$/.exec(line);
  if (heading !== null) return { first: "", rest: "", text: heading[1] ?? "", style: "bold" };
  const quote = /^\s{0,3}>\s?(.*)$/.exec(line);
  if (quote !== null) return { first: "> ", rest: "> ", text: quote[1] ?? "", style: "dim" };
  const item = /^(\s*(?:[-*+]|\d{1,9}[.)])\s+)(?:\[([ xX])\]\s+)?(.*)$/.exec(line);
  if (item !== null) {
    const box = item[2] === undefined ? "" : item[2] === " " ? "[ ] " : "[x] ";
    const first = (item[1] ?? "").replace(/^(\s*)[*+]/, "$1-").replace(/\s+$/, " ") + box;
    return { first, rest: " ".repeat(textWidth(first)), text: item[3] ?? "" };
  }
  const indent = /^\s*/.exec(line)?.[0] ?? "";
  return { first: indent, rest: indent, text: line.slice(indent.length) };
}
