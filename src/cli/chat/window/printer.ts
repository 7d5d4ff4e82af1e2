import { escapeControls } from "../../terminal/escape-controls.ts";
import { cutText, foldText, textWidth, wrapIndented, wrapText } from "../../terminal/fit-text.ts";
import { quoteLine } from "../../terminal/quote-text.ts";
import type { Colours } from "../../terminal/terminal.ts";
import { formatDuration } from "../format-duration.ts";
import { createHighlighter } from "../markdown/highlight.ts";
import { createMarkdownStream, type MarkdownStream } from "../markdown/markdown-stream.ts";
import { createRawStream } from "../markdown/raw-stream.ts";
import { findSavedOutput } from "../saved-output.ts";
import type { EndedCall, Entry } from "../state/entry.ts";
import { isDiff, numberDiff } from "./number-diff.ts";

/** Turns entries into final lines. */
export interface Printer {
  print(entry: Entry): string[];
  /** Rows of the answer that may still change, for the live area. */
  tail(): string[];
}

/** How answers and calls are printed; the user may change it at any time. */
export interface DisplayState {
  /** Whether answers are printed as the model wrote them. */
  isRaw: boolean;
  /** How answers are wrapped: between words by the chat, or by the terminal. */
  wrap: "words" | "terminal";
  /** What is printed of a call: `off` one row, `calls` its name and its end, `all` its output as well. */
  detail: "off" | "calls" | "all";
}

const MAX_OUTPUT_LINES = 5;
const MAX_DIFF_LINES = 40;
/** Of longer messages, such as a pasted file, only the beginning is shown. */
const MAX_MESSAGE_LINES = 20;
const SHOWN_MESSAGE_LINES = 8;
/** The reason of a refusal may be long. */
const MAX_END_ROWS = 8;
/** `/out` shows longer commands in full. */
const MAX_COMMAND_ROWS = 10;

/** Creates the printer for a terminal that can be redrawn. */
export function createPrinter(colours: Colours, columns: () => number, display: DisplayState): Printer {
  const highlight = createHighlighter(colours);
  const markdown = createMarkdownStream({
    colours,
    columns,
    highlight,
    wrapsProse: () => display.wrap === "words",
  });
  let reasoning = "";
  const raw = createRawStream(columns);
  let answer: MarkdownStream | undefined; // chosen at the start of an answer, so that its form does not change halfway
  let isAfterBlank = true;
  let lastGroup: Group = "note";

  const wrap = (text: string): string[] => {
    const indent = text.startsWith("  ") ? "  " : "";
    return wrapIndented(text.trim(), columns() - 1 - indent.length, 2 - indent.length)
      .split("\n")
      .map((line) => indent + line);
  };

  /** Wraps a long line between words and keeps its indentation. */
  const wrapLine = (line: string): string[] => {
    const indent = /^ */.exec(line)?.[0] ?? "";
    if (textWidth(line) < columns()) return [line];
    const width = columns() - 1 - indent.length;
    return wrapText(line, width, Number.POSITIVE_INFINITY).map((part) => indent + part);
  };

  function print(entry: Entry): string[] {
    switch (entry.kind) {
      case "greeting":
        return [colours.dim(entry.parts.map(quoteLine).join(" · ")), ""];
      case "user": {
        const [first = "", ...others] = escapeControls(entry.text).split("\n");
        const rest = others.length <= MAX_MESSAGE_LINES ? others : others.slice(0, SHOWN_MESSAGE_LINES);
        const hidden = others.length - rest.length;
        const mark = entry.how === "steer" ? "❯ (steer) " : "❯ ";
        const more = hidden === 0 ? [] : [colours.dim(`  … ${hidden} more lines, which were sent too`)];
        const added = entry.addedLines ? [colours.dim(`  ${describeAdded(entry.addedLines)}`)] : [];
        const shown = rest.map((line) => colours.bold(`  ${line}`));
        return [colours.bold(mark + first), ...shown, ...more, ...added, ""];
      }
      case "reasoning":
        return printReasoning(entry.text);
      case "text":
        answer ??= display.isRaw ? raw : markdown;
        return answer.push(entry.text);
      case "text-end": {
        const lines = answer?.end() ?? [];
        answer = undefined;
        return lines;
      }
      case "call":
        return printCall(entry.call);
      case "question":
        return printQuestion(entry);
      case "answered":
        return [colours.dim(`  ${quoteLine(entry.text)}`)];
      case "notice":
        return wrap(`? ${quoteLine(entry.text)}`).map(colours.yellow);
      case "error":
        return [
          ...wrap(`✗ ${quoteLine(entry.text)}`).map((line) => line.replace(/^✗/, colours.red("✗"))),
          ...(entry.hint === undefined ? [] : wrap(`  ${quoteLine(entry.hint)}`)),
        ];
      case "lines":
        return entry.lines.flatMap((line) => wrapLine(escapeControls(line)));
      case "command":
        return [colours.dim(cutText(`❯ ${quoteLine(entry.text)}`, columns() - 1))];
      case "command-end":
      case "turn-end":
        return isAfterBlank ? [] : [""];
    }
  }

  /** Returns complete lines only; the rest follows with the next entry. */
  function printReasoning(text: string): string[] {
    const lines = (reasoning + text).split("\n");
    reasoning = lines.pop() ?? "";
    return lines.flatMap((line) => wrapLine(escapeControls(line))).map(colours.dim);
  }

  function printCall({ number, tool, argument, outcome, durationMs, body, summary }: EndedCall): string[] {
    const width = columns() - 1;
    const head = `${number} ${tool} ${quoteLine(argument)}`;
    const isOk = outcome === "ok";
    const mark = isOk ? colours.green("✓") : colours.red("✗");
    const time = outcome === "not-run" || outcome === "unknown" ? "" : formatDuration(durationMs);
    const end = [quoteLine(summary), time].filter((words) => words !== "").join(" · ");
    if (display.detail === "off") {
      const row = cutText(head, width - 5 - textWidth(end));
      return [`${colours.cyan("→")} ${row} ${mark} ${colours.dim(end)}`];
    }
    return [
      `${colours.cyan("→")} ${cutText(head, width - 2)}`,
      ...(display.detail === "all" ? printBody(number, body) : []),
      ...wrapText(end, width - 4, MAX_END_ROWS).map(
        (row, index) => `  ${index === 0 ? mark : " "} ${colours.dim(row)}`,
      ),
    ];
  }

  /** The last lines of an output, or the first ones of a diff. */
  function printBody(number: number, body: string): string[] {
    if (body === "") return [];
    const text = escapeControls(body).replaceAll("\t", "    ");
    if (isDiff(body)) {
      const rows = numberDiff(text).map(({ sign, text: row }) => SIGNS[sign](colours, row));
      const hidden = rows.length - MAX_DIFF_LINES;
      const more = hidden <= 0 ? [] : [colours.dim(`      … ${countLines(hidden)} more: /out ${number}`)];
      return [...rows.slice(0, MAX_DIFF_LINES), ...more];
    }
    const lines = text.split("\n");
    const hidden = lines.length - MAX_OUTPUT_LINES;
    const before = findSavedOutput(body) === undefined ? `${countLines(hidden)} before` : "many lines before";
    const more = hidden <= 0 ? [] : [colours.dim(`    … ${before}; all of it: /out ${number}`)];
    return [
      ...more,
      ...lines.slice(-MAX_OUTPUT_LINES).map((line) => colours.dim(`    ${cutText(line, columns() - 5)}`)),
    ];
  }

  function printQuestion({ approval, number, environment }: Extract<Entry, { kind: "question" }>): string[] {
    const { kind, tool, summary, reason, details } = approval;
    const mark = (line: string): string => line.replace(/^\?/, colours.yellow("?"));
    if (kind === "clarification")
      return escapeControls(details.whole ?? summary)
        .split("\n")
        .flatMap((line, index) => wrap(index === 0 ? `? ${line}` : `  ${line}`))
        .map(mark);
    const head = `? ${number} ${tool} wants to run, in ${quoteLine(environment)} · asks because: ${quoteLine(reason)}`;
    const rows = escapeControls(details.whole ?? summary)
      .replaceAll("\t", "    ")
      .split("\n")
      .flatMap((line) => foldText(line, columns() - 5));
    const hidden = rows.length - MAX_COMMAND_ROWS;
    return [
      ...wrap(head).map(mark),
      ...rows.slice(0, MAX_COMMAND_ROWS).map((row) => `    ${row}`),
      ...(hidden > 0 ? [colours.dim(`    … ${hidden} more rows: /out ${number}`)] : []),
    ];
  }

  return {
    print(entry) {
      const unfinished = entry.kind === "reasoning" || reasoning === "" ? [] : [...printReasoning("\n"), ""];
      const lines = [...unfinished, ...print(entry)];
      const group = GROUPS[entry.kind];
      const isNew =
        (group !== lastGroup || entry.kind === "command") && (lines.length > 0 || entry.kind === "text");
      if (isNew && !isAfterBlank && lines[0] !== "") lines.unshift("");
      if (isNew) lastGroup = group;
      const last = lines.at(-1);
      if (last !== undefined) isAfterBlank = last === "";
      return lines;
    },
    tail: () => answer?.tail() ?? [],
  };
}

const SIGNS = {
  " ": (colours: Colours, row: string) => colours.dim(row),
  "+": (colours: Colours, row: string) => colours.green(row),
  "-": (colours: Colours, row: string) => colours.red(row),
} as const;

/** Describes what the references of a message have added to it. */
export function describeAdded(lines: number): string {
  return `+ ${countLines(lines)} of what it refers to`;
}

function countLines(count: number): string {
  return count === 1 ? "1 line" : `${count} lines`;
}

/** Entries of one group follow each other without an empty line. */
type Group = "note" | "user" | "text" | "call" | "question";
const GROUPS: Readonly<Record<Entry["kind"], Group>> = {
  greeting: "note",
  user: "user",
  reasoning: "text",
  text: "text",
  "text-end": "text",
  call: "call",
  question: "question",
  answered: "question",
  notice: "note",
  error: "note",
  lines: "note",
  command: "note",
  "command-end": "note",
  "turn-end": "note",
};
