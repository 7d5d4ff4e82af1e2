import type { AgentEvent, AgentEventOf } from "../agent/events.ts";
import { textOf } from "../providers/message.ts";
import { escapeControls } from "./escape-controls.ts";
import { cutText } from "./fit-text.ts";
import type { Terminal } from "./terminal.ts";

const SHOWN_LINES = 8;

/** Turns as they happen. */
export interface EventView {
  show(event: AgentEvent): void;
  /** Ends a line of the answer that is still open. */
  endLine(): void;
}

/**
 * The answer goes to standard output, everything else to `tell`. One view may serve several processes of a session: a
 * call may begin in one and end in the next.
 */
export function createEventView(
  terminal: Terminal,
  tell: (text: string) => void,
  columns = terminal.columns,
): EventView {
  const { colours } = terminal;
  const width = (columns ?? 80) - 1;
  /** What each call is called, and whether its result needs a name because others ran beside it. */
  const calls = new Map<string, { readonly name: string; readonly isAlone: boolean }>();
  let isInText = false;
  let isFirst = true;
  const endLine = (): void => {
    if (isInText) terminal.write("\n");
    isInText = false;
  };
  const print = (text: string): void => {
    endLine();
    tell(text);
  };
  const whoseEnd = ({ callId, tool }: AgentEventOf<"tool-end">): string => {
    const call = calls.get(callId);
    return call === undefined || call.isAlone ? "" : colours.dim(cut(` of ${tool} ${call.name}`, width - 20));
  };
  return {
    endLine,
    show(event) {
      switch (event.type) {
        case "turn-start":
          // The first message stands in the command line just above.
          if (!isFirst) print(colours.bold(`\n> ${textOf(event.message)}`));
          isFirst = false;
          return;
        case "text-delta":
          // Also into a pipe: `| tee` shows it on a terminal, which would obey it.
          terminal.write(escapeControls(event.text));
          isInText = !event.text.endsWith("\n");
          return;
        case "tools-start":
          for (const { callId, tool, input } of event.calls) {
            calls.set(callId, { name: mainArgument(input), isAlone: event.calls.length === 1 });
            print(
              `${colours.cyan("→")} ${colours.bold(tool)} ${cut(mainArgument(input), width - tool.length - 3)}`,
            );
          }
          return;
        case "tool-end":
          // A notice names a call whose end nobody saw, or that began in no process.
          if (event.outcome === "unknown" || !calls.has(event.callId)) return;
          for (const line of bodyOf(event)) print(`    ${colourDiff(colours, cut(line, width - 4))}`);
          return print(`  ${endMark(colours, event)}${whoseEnd(event)}`);
        case "tool-progress":
          return print(colours.dim(`    ${event.text}`));
        case "notice":
          return print(colours.yellow(`? ${event.text}`));
        case "attempt-failed":
          return print(colours.yellow(retryWords(event)));
        case "cache-broken":
          return print(colours.dim(`The provider's cache is lost: ${event.what}.`));
        case "turn-end":
          return endLine();
      }
    },
  };
}

export function retryWords({ failure, retryInMs }: AgentEventOf<"attempt-failed">): string {
  return `${failure.message} Trying again in ${Math.max(1, Math.round(retryInMs / 1_000))} s.`;
}

/** The argument that says most about a call. */
function mainArgument(input: string): string {
  const value = parseObject(input);
  const main = value["command"] ?? value["path"] ?? value["pattern"] ?? value["action"];
  return typeof main === "string" ? main : input;
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {}; // models write what they like, and some results are words
  }
}

function bodyOf({ tool, text, display }: AgentEventOf<"tool-end">): string[] {
  const body = (display ?? (tool === "terminal" ? outputOf(text) : text)).trimEnd();
  const lines = body === "" ? [] : body.split("\n");
  return lines.length > SHOWN_LINES ? [...lines.slice(0, SHOWN_LINES), "…"] : lines;
}

/** The output of a command, or why there is none; what is known of it besides stands before an empty line. */
function outputOf(text: string): string {
  if (text.startsWith("{")) return text;
  const end = text.indexOf("\n\n");
  return end === -1 ? (/^error: (.*)$/m.exec(text)?.[1] ?? "") : text.slice(end + 2);
}

function endMark(colours: Terminal["colours"], { outcome, durationMs }: AgentEventOf<"tool-end">): string {
  const time = colours.dim(`${durationMs} ms`);
  return outcome === "ok" ? `${colours.green("✓")} ${time}` : `${colours.red("✗")} ${outcome} ${time}`;
}

export function colourDiff(colours: Terminal["colours"], line: string): string {
  if (line.startsWith("+") && !line.startsWith("+++")) return colours.green(line);
  if (line.startsWith("-") && !line.startsWith("---")) return colours.red(line);
  return colours.dim(line);
}

function cut(text: string, most: number): string {
  return cutText(text.replace(/\s*\n\s*/g, " "), most);
}
