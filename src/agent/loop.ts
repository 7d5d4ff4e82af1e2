import { setMaxListeners } from "node:events";
import type { Clock } from "../lib/clock.ts";
import { shorten } from "../lib/shorten.ts";
import {
  type AssistantMessage,
  type Message,
  type ToolCallPart,
  type ToolMessage,
  textOf,
  toolCallsOf,
  type UserMessage,
} from "../providers/message.ts";
import {
  addUsage,
  type Model,
  type ModelEvent,
  type ModelFailure,
  NO_USAGE,
  type ToolDefinition,
  type Usage,
} from "../providers/provider.ts";
import { findTool } from "../tools/find-tool.ts";
import { readAnswerEnd, type Why } from "./answer-end.ts";
import type { AgentEvent, AgentEventOf, InterruptedTurn, ToolEnd, TurnOutcome } from "./events.ts";
import { createGuardrails } from "./guardrails.ts";
import { findBreak } from "./prefix.ts";
import { PICTURES_LEFT_OUT, refusesPictures, withoutRefusedPictures } from "./refused-pictures.ts";
import { runTools, type ToolRules } from "./run-tools.ts";
import { addCost, costOf } from "./usage.ts";

/** What a turn may use up; undefined means no limit. */
export interface TurnLimits {
  /** Requests to the model. */
  readonly maxRequests: number | undefined;
  readonly maxSeconds: number | undefined;
  readonly maxCostUsd: number | undefined;
}

/** A call that an earlier process left without a result. */
export interface PendingCall {
  readonly call: ToolCallPart;
  /** False: it was planned and never began. */
  readonly started: boolean;
}

export interface Turn {
  readonly turnId: string;
  /** Asks the model, tries again where that may help, and tells of it. */
  ask(
    request: { readonly messages: readonly Message[]; readonly tools: readonly ToolDefinition[] },
    signal: AbortSignal,
  ): AsyncIterable<ModelEvent | AgentEventOf<"attempt-failed">>;
  readonly model: Pick<Model, "provider" | "name" | "price">;
  readonly rules: ToolRules;
  /** The tools as the model is told of them: the same bytes for the life of a conversation. */
  readonly definitions: readonly ToolDefinition[];
  /** The conversation so far, the system prompt first. */
  readonly history: readonly Message[];
  readonly message: UserMessage;
  /** The turn before, if a crash left it open. Its calls are reported to the model and never run. */
  readonly interrupted: { readonly turnId: string; readonly pending: readonly PendingCall[] } | undefined;
  /** What can still be found out about a call that was under way then, in a sentence. */
  lookUp(call: ToolCallPart, signal: AbortSignal): Promise<string | undefined>;
  /** The hashes of the last request of this conversation. */
  readonly lastPrefix: readonly string[];
  readonly limits: TurnLimits;
  /** Ends a turn that goes round in circles; where a person watches, the model is only told. */
  readonly haltsLoops: boolean;
  readonly clock: Clock;
  /** Notes that a person gave since the last time, in order. */
  takeSteers(): readonly string[];
}

const MOST_CALLS = 64; // of one answer; more is a model that has lost its way
const MOST_DELTAS = 4_000_000; // characters of one answer
const MOST_CUTS = 3; // of answers in a row that were cut by their length and got nothing done
const WRAP_UP_AT = 0.8;
const BRIEF_CHARS = 60;

/**
 * Asks the model, runs the tools that it calls, and repeats until it calls none. It stores nothing: whoever consumes the
 * events commits the durable ones before asking for the next, and nothing happens before that.
 */
export async function* runTurn(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
  using deadline = openDeadline(turn.clock, turn.limits.maxSeconds);
  /** Ends what runs: when somebody stops the turn, and when its time is over. */
  const ending = AbortSignal.any([signal, deadline.signal]);
  setMaxListeners(0, ending); // everything that runs in the turn listens to it
  let history = withoutRefusedPictures(turn.history);
  const tools = turn.definitions;
  const guardrails = createGuardrails();
  const startedAt = turn.clock.now();
  let prefix = turn.lastPrefix;
  let requests = 0;
  let usage: Usage = NO_USAGE;
  let costUsd: number | undefined;
  let cuts = 0;
  let spoken = ""; // answers that were cut by their length and went on
  let said = ""; // the text of the latest answer, as far as it has come
  let isWrappingUp = false;
  let wasWarned = false;
  const notes: string[] = []; // for the model, with the next request

  const seconds = (): number => (turn.clock.now() - startedAt) / 1_000;
  /** A conversation never has two messages of a person in a row: a turn without an answer says so in its place. */
  function* endTurn(
    outcome: TurnOutcome,
    text: string,
    why?: Why,
    beginning = "[No answer: ",
  ): Generator<AgentEvent> {
    if (history.at(-1)?.role !== "assistant")
      yield assistantEvent({
        role: "assistant",
        parts: [{ type: "text", text: `${beginning}${why?.reason ?? outcome}]` }],
      });
    yield {
      type: "turn-end",
      turnId: turn.turnId,
      outcome,
      text: spoken + text,
      reason: why?.reason,
      hint: why?.hint,
      requests,
      usage,
      costUsd,
    };
  }
  const assistantEvent = (
    message: AssistantMessage,
    end: Pick<AgentEventOf<"assistant">, "finish" | "usage" | "costUsd"> = NOT_ASKED,
  ): AgentEvent => {
    history.push(message);
    return {
      type: "assistant",
      message,
      ...end,
      provider: turn.model.provider,
      model: turn.model.name,
    };
  };
  const tell = (text: string): AgentEvent => {
    const message: UserMessage = { role: "user", kind: "steer", parts: [{ type: "text", text }] };
    history.push(message);
    return { type: "steer", message };
  };

  /** Runs calls, keeps their results in the order of the calls, and returns why the turn must end, if it must. */
  async function* runCalls(calls: readonly ToolCallPart[]): AsyncGenerator<AgentEvent, string | undefined> {
    const ends = new Map<string, ToolEnd>();
    const run = calls.slice(0, MOST_CALLS);
    let halt: string | undefined;
    for await (const event of runTools(run, turn.rules, ending)) {
      if (event.type !== "tool-end") {
        yield event;
        continue;
      }
      const call = run.find(({ callId }) => callId === event.callId);
      guardrails.observe({
        tool: event.tool,
        input: call?.input ?? "",
        failed: event.outcome === "failed",
        text: event.text,
        mutates: findTool(turn.rules.tools, event.tool)?.mutates ?? false,
        durationMs: event.durationMs,
      });
      const isLast = ends.size === run.length - 1;
      const circle = isLast ? guardrails.endAnswer() : undefined;
      halt = circle?.halt;
      const end =
        circle?.warning === undefined ? event : { ...event, text: `${event.text}\n\n[${circle.warning}]` };
      ends.set(end.callId, end);
      yield end;
    }
    for (const call of calls.slice(MOST_CALLS)) {
      const end = notRun(
        call,
        `Not run: at most ${MOST_CALLS} calls of one answer are. Call it again if needed.`,
      );
      ends.set(call.callId, end);
      yield { type: "tool-end", ...end };
    }
    for (const call of calls) history.push(resultMessage(call, ends.get(call.callId)));
    return halt;
  }

  async function* refuseCalls(calls: readonly ToolCallPart[], why: string): AsyncGenerator<AgentEvent> {
    for (const call of calls) {
      const end = notRun(call, why);
      history.push(resultMessage(call, end));
      yield { type: "tool-end", ...end };
    }
  }

  const interrupted = turn.interrupted && endInterrupted(turn.interrupted.turnId, history.at(-1));
  yield { type: "turn-start", turnId: turn.turnId, message: turn.message, interrupted };
  if (interrupted?.answer) history.push(interrupted.answer);
  history.push(turn.message);
  const { pending = [] } = turn.interrupted ?? {};
  for (const { call, started } of pending) {
    const end = started ? outcomeUnknown(call, await turn.lookUp(call, ending)) : notRun(call, NEVER_BEGAN);
    history.push(resultMessage(call, end));
    yield { type: "tool-end", ...end };
    const what = started ? "interrupted, outcome unknown; it was not run again" : "not run";
    yield { type: "notice", text: `${call.tool} ${brief(call)}: ${what}.` };
  }
  if (pending.length > 0) history = withResultsAtCalls(history);

  for (;;) {
    if (signal.aborted) return yield* endTurn("stopped", "", STOPPED);
    const spent = overLimit(turn.limits, { requests, costUsd });
    const late = deadline.signal.aborted ? timeIsUp(turn.limits.maxSeconds) : undefined;
    // Not even to wrap up: another request would take as long again.
    if (late !== undefined) return yield* endTurn("budget", said, late);
    if (history.at(-1)?.role !== "user") notes.push(...turn.takeSteers());
    if (spent !== undefined && !isWrappingUp) {
      isWrappingUp = true;
      // One more answer, so that what was done is not lost on the reader.
      notes.push(`${spent.reason} ${WRAP_UP}`);
    } else if (!wasWarned && seconds() > (turn.limits.maxSeconds ?? Infinity) * WRAP_UP_AT) {
      wasWarned = true;
      notes.push(NEARLY_OVER);
    }
    // As one message, and never behind one of a person: some servers refuse two in a row.
    const note = notes.splice(0).join("\n\n");
    if (note !== "" && history.at(-1)?.role !== "user") yield tell(note);
    requests++;
    const answer: { end?: ModelEvent & { type: "message-end" }; failure?: ModelFailure } = {};
    const asking = new AbortController();
    let received = 0;
    said = "";
    const messages = [...history];
    for await (const event of turn.ask({ messages, tools }, AbortSignal.any([ending, asking.signal]))) {
      if (event.type === "request-sent") {
        said = "";
        const broken = findBreak(prefix, event.prefix);
        if (broken) yield { type: "cache-broken", ...broken };
        ({ prefix } = event);
        yield { ...event, provider: turn.model.provider, model: turn.model.name };
      } else if (event.type === "message-end") answer.end = event;
      else if (event.type === "failed") answer.failure = event.failure;
      else if (event.type === "tool-input-delta") received += event.text.length;
      else {
        if ("text" in event) received += event.text.length;
        if (event.type === "text-delta") said += event.text;
        yield event;
      }
      if (received > MOST_DELTAS) asking.abort();
    }
    if (answer.end === undefined) {
      if (deadline.signal.aborted && !signal.aborted && said !== "") {
        const kept = `${said}\n\n[Cut off: ${timeIsUp(turn.limits.maxSeconds).reason}]`;
        yield assistantEvent({ role: "assistant", parts: [{ type: "text", text: kept }] });
      }
      if (ending.aborted) continue;
      const why = received > MOST_DELTAS ? ENDLESS : failureWords(answer.failure);
      if (!refusesPictures(answer.failure, messages)) return yield* endTurn("failed", "", why);
      const hint = `${PICTURES_HINT} ${why.hint}`;
      return yield* endTurn("failed", "", { ...why, hint }, PICTURES_LEFT_OUT);
    }
    const { finish, usage: used } = answer.end;
    const cost = costOf(used, turn.model.price);
    usage = addUsage(usage, used);
    costUsd = addCost(costUsd, cost);
    const { message, refused, cut } = readAnswerEnd(answer.end, turn.model.provider);
    yield assistantEvent(message, { finish, usage: used, costUsd: cost });
    const calls = toolCallsOf(message);
    const text = textOf(answer.end.message);
    said = text;
    if (refused !== undefined) {
      yield* refuseCalls(calls, `Not run. ${refused.reason}`);
      return yield* endTurn("refused", text, refused);
    }
    if (isWrappingUp && spent !== undefined) {
      yield* refuseCalls(calls, `Not run. ${spent.reason}`);
      return yield* endTurn("budget", text || reasoningOf(message), spent);
    }
    if (calls.length === 0 && cut === undefined)
      return yield* endTurn("completed", text || reasoningOf(message));
    if (cut !== undefined) notes.push(cut.note);
    if (calls.length === 0 && cut !== undefined) {
      if (++cuts > MOST_CUTS || !cut.mayGoOn) return yield* endTurn("cut", text, cut);
      if (cut.isText) spoken += text;
      said = "";
      continue;
    }
    cuts = 0;
    spoken = "";
    const halt = yield* runCalls(calls);
    if (ending.aborted) continue;
    if (halt !== undefined && turn.haltsLoops) {
      const why = {
        reason: `The turn went round in circles: ${halt}.`,
        hint: "Say what should be done differently.",
      };
      return yield* endTurn("failed", text, why);
    }
  }
}

const NOT_ASKED = { finish: "other", usage: NO_USAGE, costUsd: undefined } as const;
const NEVER_BEGAN =
  "Not run: Hermes ended before this call began, so nothing of it happened. Call it again if it is still wanted.";
const STOPPED = { reason: "The turn was stopped.", hint: "Send a message to go on." };
const ENDLESS = {
  reason: "The model did not stop writing",
  hint: "Try again, or use another model.",
};
const PICTURES_HINT =
  "A picture may be the reason: hermes -c goes on without the pictures, and --image gives others.";
const WRAP_UP = "Call no more tools. Answer now: what is done, what is not, and what you would do next.";
const NEARLY_OVER = "[Most of the time for this task is used up. Finish what matters and answer.]";

/** Aborts when the time of a turn is over. */
function openDeadline(
  clock: Clock,
  maxSeconds: number | undefined,
): Disposable & { readonly signal: AbortSignal } {
  const deadline = new AbortController();
  const turnOver = new AbortController();
  if (maxSeconds !== undefined)
    clock.sleep(maxSeconds * 1_000, turnOver.signal).then(
      () => deadline.abort(),
      () => undefined, // the turn ended first
    );
  return { signal: deadline.signal, [Symbol.dispose]: () => turnOver.abort() };
}

function timeIsUp(maxSeconds = 0): Why {
  return {
    reason: `The limit of ${Number(maxSeconds.toFixed(1))} seconds is reached.`,
    hint: "Raise --run-budget, or go on with -c.",
  };
}

function overLimit(
  { maxRequests, maxCostUsd }: TurnLimits,
  used: { readonly requests: number; readonly costUsd: number | undefined },
): Why | undefined {
  if (maxRequests !== undefined && used.requests >= maxRequests)
    return {
      reason: `The limit of ${maxRequests} steps is reached.`,
      hint: "Raise --max-turns, or go on with -c.",
    };
  if (maxCostUsd !== undefined && (used.costUsd ?? 0) >= maxCostUsd)
    return { reason: `The limit of $${maxCostUsd} is reached.`, hint: "Raise --max-cost, or go on with -c." };
  return undefined;
}

function failureWords(failure: ModelFailure | undefined): Why {
  return {
    reason: failure?.message ?? "the model gave no answer",
    hint: failure?.hint ?? "Try again.",
  };
}

/** Ends the turn of a process that died. Its answer may have been complete, with only the end of the turn lost. */
function endInterrupted(turnId: string, last: Message | undefined): InterruptedTurn {
  const wasAnswered = last?.role === "assistant" && toolCallsOf(last).length === 0;
  const text = "[No answer: Hermes ended before the turn was over]";
  return {
    turnId,
    outcome: wasAnswered ? "completed" : "failed",
    reason: wasAnswered ? undefined : "Hermes ended before the turn was over.",
    answer: last?.role === "user" ? { role: "assistant", parts: [{ type: "text", text }] } : undefined,
  };
}

/** Results that came after a crash belong to their calls, in the order of the calls. */
function withResultsAtCalls(history: readonly Message[]): Message[] {
  const results = new Map(history.flatMap((one) => (one.role === "tool" ? [[one.callId, one]] : [])));
  return history.flatMap((message): Message[] => {
    if (message.role === "tool") return [];
    if (message.role !== "assistant") return [message];
    return [message, ...toolCallsOf(message).flatMap(({ callId }) => results.get(callId) ?? [])];
  });
}

function resultMessage({ callId, tool }: ToolCallPart, end: ToolEnd | undefined): ToolMessage {
  const text = end?.text ?? "No result.";
  return { role: "tool", callId, tool, text, failed: end?.outcome !== "ok" };
}

function notRun({ callId, tool }: ToolCallPart, text: string): ToolEnd {
  return { callId, tool, outcome: "not-run", text, durationMs: 0 };
}

function outcomeUnknown({ callId, tool }: ToolCallPart, finding: string | undefined): ToolEnd {
  const text = [
    "Interrupted: Hermes ended while this ran, so its outcome is unknown.",
    finding,
    "It was not run again. Check what it did before you repeat it.",
  ];
  return { callId, tool, outcome: "unknown", text: text.filter(Boolean).join(" "), durationMs: 0 };
}

/** Enough of a call to know which one it was. */
function brief({ input }: ToolCallPart): string {
  const [, main] = /"(?:command|path|pattern)"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(input) ?? [];
  const text = main ?? input;
  return shorten(text, BRIEF_CHARS);
}

function reasoningOf({ parts }: AssistantMessage): string {
  return parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
}
