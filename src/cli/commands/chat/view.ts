import { type AgentEvent, type AgentEventOf, EVENTS_VERSION } from "../../../agent/events.ts";
import type { OpenConversation } from "../../../conversation/open-conversation.ts";
import { createEventView, retryWords } from "../../event-view.ts";
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

/** The answer on stdout as it is written; calls, results and diffs on stderr as they happen. */
export function createWatchView(terminal: Terminal, { model }: OpenConversation): View {
  if (model.provider === "scripted") terminal.note(terminal.colours.dim(`scripted model: ${model.name}`));
  const view = createEventView(terminal, terminal.note);
  return {
    show: view.show,
    end(event) {
      view.endLine();
      tellWhy(terminal, event);
    },
  };
}

function tellWhy(terminal: Terminal, { reason, hint }: AgentEventOf<"turn-end">): void {
  if (reason !== undefined) terminal.note(`hermes: ${reason}${hint === undefined ? "" : `\n  ${hint}`}`);
}
