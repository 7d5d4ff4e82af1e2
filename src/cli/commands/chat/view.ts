import { type AgentEvent, type AgentEventOf, EVENTS_VERSION } from "../../../agent/events.ts";
import type { OpenConversation } from "../../../conversation/open-conversation.ts";
import type { Terminal } from "../../terminal.ts";

/** What a person or a program sees of a turn. */
export interface View {
  show(event: AgentEvent): void;
  end(event: AgentEventOf<"turn-end">): void;
}

/** Nothing but the answer; what went wrong goes to stderr. */
export function createQuietView(terminal: Terminal): View {
  return {
    show(event) {
      if (event.type === "notice") terminal.note(`hermes: ${event.text}`);
      if (event.type === "attempt-failed") terminal.note(`hermes: ${retryWords(event)}`);
    },
    end(event) {
      if (event.text !== "") terminal.print(event.text);
      tellWhy(terminal, event);
    },
  };
}

/** One event per line, as docs/events.md describes them. */
export function createJsonView(terminal: Terminal, { sessionId, model, isResumed }: OpenConversation): View {
  const print = (value: object): void => terminal.print(JSON.stringify(value));
  print({
    type: "session",
    version: EVENTS_VERSION,
    sessionId,
    provider: model.provider,
    model: model.name,
    isResumed,
  });
  return { show: print, end: () => undefined };
}

const SHOWN_LINES = 12;
const SHOWN_CHARS = 100;

/** The answer on stdout as it is written; calls, results and diffs on stderr as they happen. */
export function createWatchView(terminal: Terminal, { model }: OpenConversation): View {
  const { colours } = terminal;
  let isInText = false;
  const endText = (): void => {
    if (isInText) terminal.write("\n");
    isInText = false;
  };
  const note = (text: string): void => {
    endText();
    terminal.note(text);
  };
  if (model.provider === "scripted") note(colours.dim(`scripted model: ${model.name}`));
  const tools = new Map<string, string>();
  return {
    show(event) {
      switch (event.type) {
        case "text-delta":
          terminal.write(event.text);
          isInText = !event.text.endsWith("\n");
          return;
        case "tools-start":
          for (const { callId, tool, input } of event.calls) {
            tools.set(callId, tool);
            note(`${colours.cyan("→")} ${colours.bold(tool)} ${shorten(input, SHOWN_CHARS)}`);
          }
          return;
        case "tool-progress":
          return note(colours.dim(`  ${event.text}`));
        case "tool-end":
          return note(describeEnd(terminal, event));
        case "notice":
          return note(colours.yellow(event.text));
        case "attempt-failed":
          return note(colours.yellow(retryWords(event)));
        case "cache-broken":
          return note(colours.dim(`the provider's cache is lost: ${event.what}`));
      }
    },
    end(event) {
      endText();
      tellWhy(terminal, event);
    },
  };
}

function describeEnd(
  { colours }: Terminal,
  { outcome, text, display, durationMs }: AgentEventOf<"tool-end">,
): string {
  const mark = outcome === "ok" ? colours.green("✓") : colours.red("✗");
  const head = `${mark} ${outcome} ${colours.dim(`${durationMs} ms`)}`;
  const body = (display ?? (outcome === "ok" ? "" : text)).split("\n");
  const shown = body.slice(0, SHOWN_LINES).map((line) => `  ${colourDiff(colours, shorten(line, 200))}`);
  const more = body.length > SHOWN_LINES ? [colours.dim(`  … ${body.length - SHOWN_LINES} more lines`)] : [];
  return [head, ...(body.join("") === "" ? [] : [...shown, ...more])].join("\n");
}

function colourDiff(colours: Terminal["colours"], line: string): string {
  if (line.startsWith("+") && !line.startsWith("+++")) return colours.green(line);
  if (line.startsWith("-") && !line.startsWith("---")) return colours.red(line);
  return line;
}

function shorten(text: string, most: number): string {
  const line = text.replace(/\s+/g, " ");
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

function retryWords({ failure, retryInMs }: AgentEventOf<"attempt-failed">): string {
  return `${failure.message} Trying again in ${Math.max(1, Math.round(retryInMs / 1_000))} s.`;
}

function tellWhy(terminal: Terminal, { reason, hint }: AgentEventOf<"turn-end">): void {
  if (reason !== undefined) terminal.note(`hermes: ${reason}${hint === undefined ? "" : `\n  ${hint}`}`);
}
