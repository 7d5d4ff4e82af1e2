import { numberChoices } from "../../../approvals/clarification.ts";
import { escapeControls } from "../../terminal/escape-controls.ts";
import { cutText } from "../../terminal/fit-text.ts";
import { quoteLine } from "../../terminal/quote-text.ts";
import { formatDuration } from "../format-duration.ts";
import type { ChatState } from "../state/chat-state.ts";
import type { EndedCall, Entry } from "../state/entry.ts";
import { approvalChoices } from "../window/draw.ts";
import { type DisplayState, describeAdded } from "../window/printer.ts";
import { createMarkdownSpeaker } from "./speak-markdown.ts";

/** Turns entries into whole lines for a screen reader. Every line begins with a label that can be searched for. */
export interface PlainPrinter {
  print(entry: Entry): string[];
  /** Lines for changes that are not entries, such as started calls and queued messages. */
  announce(before: ChatState, after: ChatState): string[];
}

const MAX_OUTPUT_LINES = 5;
/** A longer line of output would be read aloud for minutes. */
export const MAX_LINE_WIDTH = 300;

export function createPlainPrinter(display: DisplayState): PlainPrinter {
  const answer = createMarkdownSpeaker(display);
  let reasoning = "";

  function print(entry: Entry): string[] {
    switch (entry.kind) {
      case "greeting":
        return [`notice: ${entry.parts.join(", ")}`];
      case "user":
        return [
          ...labelLines(entry.how === "steer" ? "you, to the running turn" : "you", entry.text),
          ...(entry.addedLines ? [`notice: ${describeAdded(entry.addedLines)}`] : []),
        ];
      case "text":
        return answer.push(entry.text);
      case "text-end":
        return answer.end();
      case "reasoning": {
        const lines = (reasoning + entry.text).split("\n");
        reasoning = lines.pop() ?? "";
        return lines.flatMap((line) => labelLines("reasoning", line));
      }
      case "call":
        return endOfCall(entry.call, display.detail);
      case "question":
        return question(entry);
      case "answered":
        return [`answer: ${entry.text}`];
      case "notice":
        return [`notice: ${entry.text}`];
      case "error":
        return [`error: ${entry.text}`, ...(entry.hint === undefined ? [] : [`hint: ${entry.hint}`])];
      case "lines":
        return entry.lines.filter((line) => line.trim() !== "").map((line) => `info: ${line}`);
      case "command":
      case "command-end":
        return []; // it was echoed while it was typed
      case "turn-end":
        return ["notice: your turn"];
    }
  }
  return {
    print(entry) {
      const rest = entry.kind !== "reasoning" && reasoning !== "" ? labelLines("reasoning", reasoning) : [];
      if (entry.kind !== "reasoning") reasoning = "";
      return [...rest, ...print(entry)].map(escapeControls);
    },
    announce(before, after) {
      const known = new Set(before.calls.map(({ callId }) => callId));
      return [
        ...after.calls
          .filter(({ callId }) => !known.has(callId))
          .map(({ number, tool, argument }) => `call ${number} ${tool}: ${quoteLine(argument)}`),
        ...after.queue
          .filter((text) => !before.queue.includes(text))
          .map((text) => `queued: ${quoteLine(text)}`),
        ...after.steers
          .filter((text) => !before.steers.includes(text))
          .map((text) => `steer: ${quoteLine(text)}`),
        ...(after.mode === before.mode ? [] : [`notice: mode ${after.mode}`]),
        ...(isQueueWaiting(after) && !isQueueWaiting(before)
          ? [
              `notice: ${countMessages(after.queue.length)} not sent; Enter on the empty line sends the oldest`,
            ]
          : []),
        ...(after.hint === undefined || after.hint === before.hint ? [] : [`notice: ${after.hint.text}`]),
      ].map(escapeControls);
    },
  };
}

/** Whether the queue waits for the user to send it. */
function isQueueWaiting({ queue, isQueueHeld, turn }: ChatState): boolean {
  return queue.length > 0 && isQueueHeld && turn === undefined;
}

function countMessages(count: number): string {
  return count === 1 ? "1 queued message was" : `${count} queued messages were`;
}

function labelLines(word: string, text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => `${word}: ${line}`);
}

function endOfCall(call: EndedCall, detail: DisplayState["detail"]): string[] {
  const { number, tool, argument, outcome, durationMs, body, summary } = call;
  const lines = detail !== "all" ? [] : body.split("\n").filter((line) => line.trim() !== "");
  const hidden = lines.length - MAX_OUTPUT_LINES;
  const time = outcome === "not-run" || outcome === "unknown" ? [] : [formatDuration(durationMs)];
  const end = [summary, ...time].filter((words) => words !== "").join(", ");
  return [
    ...(outcome === "not-run" ? [`call ${number} ${tool}: ${quoteLine(argument)}`] : []),
    ...(hidden > 0
      ? [
          `output ${number}: ${hidden} ${hidden === 1 ? "line" : "lines"} before, all of it with /out ${number}`,
        ]
      : []),
    ...lines.slice(-MAX_OUTPUT_LINES).map((line) => `output ${number}: ${cutText(line, MAX_LINE_WIDTH)}`),
    `result ${number} ${outcome}: ${end}`,
  ];
}

function question({ approval, number, environment }: Extract<Entry, { kind: "question" }>): string[] {
  const { kind, tool, summary, reason, details } = approval;
  const isApproval = kind === "approval";
  const choices = isApproval ? approvalChoices(details) : numberChoices(details);
  return [
    isApproval
      ? `question: call ${number} ${tool} wants to run, in ${quoteLine(environment)}, asks because: ${quoteLine(reason)}`
      : `question: ${quoteLine(summary)}`,
    ...(isApproval ? labelLines("question", details.whole ?? summary) : []),
    ...choices.map((choice) => `question: ${quoteLine(choice)}`),
    isApproval
      ? "question: type a number and Enter. Escape or silence means no."
      : "question: type a number or your own words, and Enter. Escape: the agent decides.",
  ];
}
