import type { AgentEvent, AgentEventOf } from "../../agent/events.ts";
import { mainArgument } from "../../agent/main-argument.ts";
import { endSentence } from "../../lib/text/end-sentence.ts";
import { textOf } from "../../providers/message.ts";
import { formatRoute } from "../../providers/provider.ts";
import { escapeControls } from "./escape-controls.ts";
import { cutText } from "./fit-text.ts";
import type { Terminal } from "./terminal.ts";

const SHOWN_LINES = 8;

/** Prints the events of a turn as they happen. */
export interface EventView {
  show(event: AgentEvent): void;
  /** Ends an unfinished line of the answer. */
  endLine(): void;
}

/**
 * The answer goes to standard output, everything else to `note`. One view may show several processes of a session: a call may
 * start in one process and end in the next.
 */
export function createEventView(
  terminal: Terminal,
  note: (text: string) => void,
  columns = terminal.columns,
): EventView {
  const { colours } = terminal;
  const width = (columns ?? 80) - 1;
  /** The main argument of each call, and whether the call ran alone; if not, its result line names the call. */
  const calls = new Map<string, { readonly name: string; readonly isAlone: boolean }>();
  let isInText = false;
  let isFirst = true;
  const endLine = (): void => {
    if (isInText) terminal.write("\n");
    isInText = false;
  };
  const print = (text: string): void => {
    endLine();
    note(text);
  };
  const formatCallName = ({ callId, tool }: AgentEventOf<"tool-end">): string => {
    const call = calls.get(callId);
    return call === undefined || call.isAlone
      ? ""
      : colours.dim(cutToWidth(` of ${tool} ${call.name}`, width - 20));
  };
  return {
    endLine,
    show(event) {
      switch (event.type) {
        case "turn-start":
          // The first message is visible in the command line just above.
          if (!isFirst) print(colours.bold(`\n> ${textOf(event.message)}`));
          isFirst = false;
          return;
        case "text-delta":
          // Escaped in a pipe too, because `| tee` shows the text on a terminal.
          terminal.write(escapeControls(event.text));
          isInText = !event.text.endsWith("\n");
          return;
        case "tools-start":
          for (const { callId, tool, input } of event.calls) {
            calls.set(callId, { name: mainArgument(input), isAlone: event.calls.length === 1 });
            print(
              `${colours.cyan("→")} ${colours.bold(tool)} ${cutToWidth(mainArgument(input), width - tool.length - 3)}`,
            );
          }
          return;
        case "tool-end":
          // If the outcome is unknown or the call never started, a notice reports it.
          if (event.outcome === "unknown" || !calls.has(event.callId)) return;
          for (const line of bodyOf(event)) print(`    ${colourDiff(colours, cutToWidth(line, width - 4))}`);
          return print(`  ${endMark(colours, event)}${formatCallName(event)}`);
        case "notice":
          return print(colours.yellow(`? ${event.text}`));
        case "attempt-failed":
          // Without a wait, the next event reports what happens instead.
          return event.retryInMs === 0 ? undefined : print(colours.yellow(formatRetry(event)));
        case "route-switched":
          return print(colours.yellow(formatSwitch(event)));
        case "cache-broken":
          return print(colours.dim(`The provider's cache was lost: ${event.what}.`));
        case "compaction-start":
        case "compaction":
        case "compaction-failed":
          return print(colours.yellow(`? ${formatCompaction(event)}`));
        case "turn-end":
          return endLine();
      }
    },
  };
}

/** Describes a step of a compaction in one sentence. `stopWay`: the key that stops it, where nothing else says so. */
export function formatCompaction(
  event: AgentEventOf<"compaction-start"> | AgentEventOf<"compaction"> | AgentEventOf<"compaction-failed">,
  stopWay = "; Ctrl-C stops it",
): string {
  if (event.type === "compaction-start")
    return `Compacting the conversation of about ${event.tokens} tokens${stopWay}.`;
  if (event.type === "compaction-failed")
    return `${event.message} The conversation continues in full. ${event.hint}`;
  const { tokensBefore, tokensAfter, durationMs } = event;
  return `Compacted the conversation from about ${tokensBefore} to ${tokensAfter} tokens in ${Math.round(durationMs / 1_000)} s; the full text stays searchable.`;
}

export function formatRetry({ failure, retryInMs }: AgentEventOf<"attempt-failed">): string {
  if (retryInMs === 0) return failure.message; // the compaction that follows has its own line
  return `${endSentence(failure.message)} Trying again in ${Math.max(1, Math.round(retryInMs / 1_000))} s.`;
}

/** Describes a switch to another key or model in one line, with the reason and the cost of the lost cache. */
export function formatSwitch(event: AgentEventOf<"route-switched">): string {
  const { from, to, reason, lostCacheTokens = 0, lostCacheUsd } = event;
  const cost = lostCacheUsd === undefined ? "" : `, $${lostCacheUsd.toFixed(4)} more`;
  const loss =
    lostCacheTokens === 0
      ? ""
      : `${/[.!?]$/.test(reason) ? "" : "."} The prompt cache is lost: about ${lostCacheTokens} tokens are read again${cost}.`;
  return `Now ${formatRoute(to)} answers instead of ${formatRoute(from)}: ${reason}${loss}`;
}

function bodyOf({ tool, text, display }: AgentEventOf<"tool-end">): string[] {
  const body = (display ?? (tool === "terminal" ? outputOf(text) : text)).trimEnd();
  const lines = body === "" ? [] : body.split("\n");
  return lines.length > SHOWN_LINES ? [...lines.slice(0, SHOWN_LINES), "…"] : lines;
}

/** The output of a command, or its error. The metadata of the command precedes an empty line and is omitted. */
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

function cutToWidth(text: string, width: number): string {
  return cutText(text.replace(/\s*\n\s*/g, " "), width);
}
