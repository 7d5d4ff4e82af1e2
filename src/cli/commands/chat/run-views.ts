import {
  type AgentEvent,
  type AgentEventOf,
  EVENTS_VERSION,
  type TurnOutcome,
} from "../../../agent/events.ts";
import type { OpenConversation } from "../../../conversation/open-conversation.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import { createEventView, formatCompaction, formatRetry, formatSwitch } from "../../terminal/event-view.ts";
import { quoteLine } from "../../terminal/quote-text.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { onOneLine } from "./output-schema.ts";

/** The facts about a run that a view prints before and after it. */
export interface Run extends Pick<OpenConversation, "model" | "isResumed"> {
  /** Undefined with `--no-session`. */
  readonly sessionId: string | undefined;
}

/** The result of one run: its last turn, and the JSON that `--output-schema` requires. */
export interface RunResult {
  readonly end: AgentEventOf<"turn-end">;
  /** `unfit`: the answer never matched the output schema. */
  readonly outcome: TurnOutcome | "unfit";
  /** The text to print: the answer, or the JSON in it. */
  readonly text: string;
  /** The JSON that matches the output schema, as the model wrote it. */
  readonly json?: string;
  readonly durationMs: number;
}

/** Prints a run for a user or a program. */
export interface View extends Disposable {
  show(event: AgentEvent): void;
  end(result: RunResult): void;
}

/** Prints only the answer; errors go to stderr. */
function createQuietView(terminal: Terminal, run: Pick<Run, "sessionId">): View {
  return {
    show(event) {
      if (event.type === "notice") terminal.note(`hermes: ${event.text}`);
      if (event.type === "attempt-failed" && event.retryInMs > 0)
        terminal.note(`hermes: ${formatRetry(event)}`);
      if (event.type === "route-switched") terminal.note(`hermes: ${formatSwitch(event)}`);
      if (
        event.type === "compaction-start" ||
        event.type === "compaction" ||
        event.type === "compaction-failed"
      )
        terminal.note(`hermes: ${formatCompaction(event)}`);
      noteDenial(terminal, event, run);
    },
    end({ text, end }) {
      if (text !== "") terminal.print(text);
      printReason(terminal, end);
    },
    [Symbol.dispose]: () => undefined,
  };
}

/** Prints one event per line, as described in docs/events.md. */
function createEventsView(terminal: Terminal, { sessionId, model, isResumed }: Run): View {
  const print = (value: object): void => terminal.print(JSON.stringify(value));
  print({
    type: "session",
    version: EVENTS_VERSION,
    sessionId,
    provider: model.provider,
    model: model.name,
    isResumed,
  });
  return {
    show: print,
    end({ end, outcome, json }) {
      if (json !== undefined) terminal.print(`{"type":"result","value":${onOneLine(json)}}`);
      if (outcome === "unfit") printReason(terminal, end);
    },
    [Symbol.dispose]: () => undefined,
  };
}

/** Prints one JSON object at the end. */
function createSummaryView(terminal: Terminal, run: Run): View {
  return {
    show: () => undefined,
    end({ end, outcome, text, json, durationMs }) {
      const summary = {
        ...describeRun(run, outcome),
        text: text || end.text,
        reason: end.reason ?? null,
        hint: end.hint ?? null,
        duration_ms: durationMs,
        ...usageFields(end),
      };
      if (json === undefined) return terminal.printJson(summary);
      // Inserted as text, because parsing it would lose digits of large numbers.
      terminal.print(`${JSON.stringify(summary, undefined, 2).slice(0, -2)},\n  "result": ${json}\n}`);
    },
    [Symbol.dispose]: () => undefined,
  };
}

/** Streams the answer to stdout, and calls, results, diffs and a final summary to stderr. */
export function createWatchView(terminal: Terminal, run: Run): View {
  const { sessionId, model } = run;
  if (model.provider === "scripted") terminal.note(terminal.colours.dim(`scripted model: ${model.name}`));
  const view = createEventView(terminal, terminal.note, terminal.noteColumns);
  const ticker = createTicker(terminal);
  return {
    show(event) {
      ticker.show(event);
      view.show(event);
      if (event.type === "tool-end") view.endLine();
      noteDenial(terminal, event, run);
    },
    end({ end, durationMs }) {
      view.endLine();
      printReason(terminal, end);
      const facts = [
        sessionId === undefined ? "not saved" : `session ${sessionId}`,
        seconds(durationMs),
        ...usageWords(end),
      ];
      terminal.note(terminal.colours.dim(facts.join(" · ")));
    },
    [Symbol.dispose]: () => ticker[Symbol.dispose](),
  };
}

/** Reports a call that was not run, with the reason and the command that explains it. */
function noteDenial(terminal: Terminal, event: AgentEvent, { sessionId }: Pick<Run, "sessionId">): void {
  if (event.type !== "tool-end" || event.denied === undefined) return;
  const { callId, tool, summary, decision } = event.denied;
  const what = quoteLine(`${tool}: ${shorten(summary, DENIED_CHARS)}`);
  const more = sessionId === undefined ? "" : ` More: hermes why ${quoteLine(callId)}`;
  terminal.note(`hermes: Not run: ${what} (${quoteLine(decision.reason)})${more}`);
}

const DENIED_CHARS = 200;
const TICK_MS = 1_000;

/** On a terminal, a status line that counts the seconds while nothing else is printed. It is erased afterwards. */
function createTicker(terminal: Terminal): { show(event: AgentEvent): void } & Disposable {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearInterval(timer);
    terminal.status("");
  };
  const start = (what: string): void => {
    stop();
    const since = performance.now();
    timer = setInterval(
      () => terminal.status(`… ${what}, ${seconds(performance.now() - since)}`),
      TICK_MS,
    ).unref();
  };
  return {
    show(event) {
      if (event.type === "request-sent") start("waiting for the model");
      else if (event.type === "tools-start")
        start(`running ${event.calls.map(({ tool }) => tool).join(", ")}`);
      else if (event.type !== "reasoning-delta") stop();
    },
    [Symbol.dispose]: stop,
  };
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}

function usageWords({ usage, costUsd }: AgentEventOf<"turn-end">): string[] {
  const { inputTokens, cacheReadTokens, outputTokens } = usage;
  const cached = cacheReadTokens ? ` (${cacheReadTokens} cached)` : "";
  const tokens =
    inputTokens === undefined ? [] : [`${inputTokens} tokens in${cached}, ${outputTokens ?? 0} out`];
  return [...tokens, costUsd === undefined ? "cost unknown" : `$${costUsd.toFixed(4)}`];
}

function printReason(terminal: Terminal, { reason, hint }: AgentEventOf<"turn-end">): void {
  if (reason !== undefined) terminal.note(`hermes: ${reason}${hint === undefined ? "" : `\n  ${hint}`}`);
}

/** The session, model and outcome of a run, with the keys of usage files and summaries. */
export function describeRun({ sessionId, model }: Run, outcome: RunResult["outcome"]) {
  return { session_id: sessionId ?? null, provider: model.provider, model: model.name, outcome };
}

/** The usage of a turn, with the keys of usage files and summaries. */
export function usageFields({ requests, usage, costUsd }: AgentEventOf<"turn-end">) {
  return {
    requests,
    input_tokens: usage.inputTokens ?? null,
    cache_read_tokens: usage.cacheReadTokens ?? null,
    cache_write_tokens: usage.cacheWriteTokens ?? null,
    output_tokens: usage.outputTokens ?? null,
    reasoning_tokens: usage.reasoningTokens ?? null,
    cost_usd: costUsd ?? null,
  };
}

/** The views of a single run, by output format. */
export const VIEWS = {
  events: createEventsView,
  json: createSummaryView,
  quiet: createQuietView,
  watch: createWatchView,
} as const satisfies Record<string, (terminal: Terminal, run: Run) => View>;
