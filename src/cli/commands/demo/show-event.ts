import type { AgentEvent, AgentEventOf } from "../../../agent/events.ts";
import { textOf } from "../../../providers/message.ts";
import type { Terminal } from "../../terminal.ts";

const SHOWN_LINES = 8;

/** Turns as they happen, read from the events that `--json` prints; all on standard output, so that order is kept. */
export interface EventView {
  show(event: AgentEvent): void;
  endLine(): void;
}

/** One view for all processes of a session: a call may begin in one and end in the next. */
export function createEventView(terminal: Terminal): EventView {
  const { colours } = terminal;
  const width = (terminal.columns ?? 80) - 1;
  const calls = new Map<string, string>();
  let isInText = false;
  let isFirst = true;
  const endLine = (): void => {
    if (isInText) terminal.write("\n");
    isInText = false;
  };
  const print = (text: string): void => {
    endLine();
    terminal.print(text);
  };
  return {
    endLine,
    show(event) {
      switch (event.type) {
        case "turn-start":
          // The first message stands in the command line just above.
          if (!isFirst && event.message !== undefined) print(colours.bold(`\n> ${textOf(event.message)}`));
          isFirst = false;
          return;
        case "text-delta":
          terminal.write(event.text);
          isInText = !event.text.endsWith("\n");
          return;
        case "tools-start":
          for (const { callId, tool, input } of event.calls) {
            calls.set(callId, mainArgument(input));
            print(
              `${colours.cyan("→")} ${colours.bold(tool)} ${cut(mainArgument(input), width - tool.length - 3)}`,
            );
          }
          return;
        case "tool-end":
          if (event.outcome === "unknown") {
            const name = calls.get(event.callId) ?? event.tool;
            return print(colours.yellow(`? ${name}: interrupted, outcome unknown; not simply run again`));
          }
          for (const line of bodyOf(event)) print(`    ${colourDiff(colours, cut(line, width - 4))}`);
          return print(`  ${endMark(colours, event)}`);
        case "turn-end":
          if (event.reason !== undefined) print(colours.red(event.reason));
          return endLine();
      }
    },
  };
}

/** The argument that says most about a call. */
function mainArgument(input: string): string {
  const value = JSON.parse(input) as Readonly<Record<string, unknown>>;
  return String(value["command"] ?? value["path"] ?? input);
}

function bodyOf({ tool, text, display }: AgentEventOf<"tool-end">): string[] {
  const body = (display ?? (tool === "terminal" ? outputOf(text) : text)).trimEnd();
  const lines = body === "" ? [] : body.split("\n");
  return lines.length > SHOWN_LINES ? [...lines.slice(0, SHOWN_LINES), "…"] : lines;
}

function outputOf(text: string): string {
  try {
    return String((JSON.parse(text) as { output?: unknown }).output ?? text);
  } catch {
    return text; // a call that was refused is told in words
  }
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
  const line = text.replace(/\s*\n\s*/g, " ");
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}
