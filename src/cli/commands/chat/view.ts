import { type AgentEvent, type AgentEventOf, EVENTS_VERSION } from "../../../agent/events.ts";
import type { OpenConversation } from "../../../conversation/open-conversation.ts";
import { createEventView, retryWords } from "../../event-view.ts";
import type { Terminal } from "../../terminal.ts";
import { onOneLine } from "./output-schema.ts";
import { type RunResult, usageFields } from "./run-result.ts";

/** What a view says of a run before and after it. */
export interface Run extends Pick<OpenConversation, "model" | "isResumed"> {
  /** Undefined when it is not kept. */
  readonly sessionId: string | undefined;
}

/** What a person or a program sees of a run. */
export interface View extends Disposable {
  show(event: AgentEvent): void;
  end(result: RunResult): void;
}

/** Nothing but the answer; what went wrong goes to stderr. */
export function createQuietView(terminal: Terminal): View {
  return {
    show(event) {
      if (event.type === "notice") terminal.note(`hermes: ${event.text}`);
      if (event.type === "attempt-failed") terminal.note(`hermes: ${retryWords(event)}`);
    },
    end({ text, end }) {
      if (text !== "") terminal.print(text);
      tellWhy(terminal, end);
    },
    [Symbol.dispose]: () => undefined,
  };
}

/** One event per line, as docs/events.md describes them. */
export function createEventsView(terminal: Terminal, { sessionId, model, isResumed }: Run): View {
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
      if (outcome === "unfit") tellWhy(terminal, end);
    },
    [Symbol.dispose]: () => undefined,
  };
}

/** One JSON object at the end. */
export function createSummaryView(terminal: Terminal, { sessionId, model }: Run): View {
  return {
    show: () => undefined,
    end({ end, outcome, text, json, durationMs }) {
      const summary = {
        session_id: sessionId ?? null,
        provider: model.provider,
        model: model.name,
        outcome,
        text: text || end.text,
        reason: end.reason ?? null,
        hint: end.hint ?? null,
        duration_ms: durationMs,
        ...usageFields(end),
      };
      if (json === undefined) return terminal.printJson(summary);
      // Put in as it is: as a value, its numbers could lose digits.
      terminal.print(`${JSON.stringify(summary, undefined, 2).slice(0, -2)},\n  "result": ${json}\n}`);
    },
    [Symbol.dispose]: () => undefined,
  };
}

/** The answer on stdout as it is written; calls, results and diffs on stderr as they happen, and at last a summary. */
export function createWatchView(terminal: Terminal, { sessionId, model }: Run): View {
  if (model.provider === "scripted") terminal.note(terminal.colours.dim(`scripted model: ${model.name}`));
  const view = createEventView(terminal, terminal.note, terminal.noteColumns);
  const life = createSignOfLife(terminal);
  return {
    show(event) {
      life.show(event);
      view.show(event);
    },
    end({ end, durationMs }) {
      view.endLine();
      tellWhy(terminal, end);
      const facts = [
        sessionId === undefined ? "not kept" : `session ${sessionId}`,
        seconds(durationMs),
        ...usageWords(end),
      ];
      terminal.note(terminal.colours.dim(facts.join(" · ")));
    },
    [Symbol.dispose]: () => life[Symbol.dispose](),
  };
}

const STILL_AFTER_MS = 1_000;

/** A line that counts the seconds while nothing else is to be seen; on a terminal only, and gone afterwards. */
function createSignOfLife(terminal: Terminal): { show(event: AgentEvent): void } & Disposable {
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
      STILL_AFTER_MS,
    ).unref();
  };
  return {
    show(event) {
      if (event.type === "request-sent") start("the model thinks");
      else if (event.type === "tools-start") start(`${event.calls.map(({ tool }) => tool).join(", ")} runs`);
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

function tellWhy(terminal: Terminal, { reason, hint }: AgentEventOf<"turn-end">): void {
  if (reason !== undefined) terminal.note(`hermes: ${reason}${hint === undefined ? "" : `\n  ${hint}`}`);
}
