import { setMaxListeners } from "node:events";
import { commonPrefixLength } from "../lib/text/common-prefix-length.ts";
import type { Clock } from "../lib/time/clock.ts";
import {
  type AssistantMessage,
  type Message,
  type ToolCallPart,
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
import { classifyAnswerEnd, type TurnEndReason } from "./answer-end.ts";
import { createCompactor, type TurnCompaction } from "./compaction/when-to-compact.ts";
import { createDenialCounter } from "./denial-counter.ts";
import type { AgentEvent, AgentEventOf, PendingCall, TurnOutcome } from "./events.ts";
import { endInterrupted, reportPending } from "./interrupted-turn.ts";
import { createLoopDetector } from "./loop-detector.ts";
import {
  mayBeCausedByPictures,
  PICTURES_REFUSED_PREFIX,
  withoutRefusedPictures,
} from "./refused-pictures.ts";
import { addCost, calculateCost, estimateCacheLoss, estimateUsage, fillUsage } from "./request-cost.ts";
import { createResultMessage, createToolEnd, runTools, type ToolRules } from "./run-tools.ts";
import { type TurnLimits, watchLimits } from "./turn-limits.ts";

export interface Turn {
  readonly turnId: string;
  /** Sends a request to the model, retries temporary failures, and reports each failed attempt and each switch. */
  ask(
    request: { readonly messages: readonly Message[]; readonly tools: readonly ToolDefinition[] },
    signal: AbortSignal,
  ): AsyncIterable<ModelEvent | AgentEventOf<"attempt-failed" | "route-switched">>;
  /** Called at the end of each request, with its failure unless the model answered. */
  onAnswer(failure: ModelFailure | undefined): void;
  /** The model of the current request; `ask` may switch to another one. */
  readonly model: Pick<Model, "provider" | "name" | "price"> & { readonly keySource?: string | undefined };
  readonly rules: ToolRules;
  /** Tool definitions for the model: identical bytes in the whole conversation, for the provider's cache. */
  readonly definitions: readonly ToolDefinition[];
  /** The conversation so far, the system prompt first. */
  readonly history: readonly Message[];
  readonly message: UserMessage;
  /** The previous turn, if a crash left it unfinished. Its calls are reported to the model and never run. */
  readonly interrupted: { readonly turnId: string; readonly pending: readonly PendingCall[] } | undefined;
  /** Says in one sentence what is known about a call that ran or waited when the previous process crashed. */
  lookUp(pending: PendingCall, signal: AbortSignal): Promise<string | undefined>;
  /** Prefix hashes of the last request of this conversation. */
  readonly lastPrefix: readonly string[];
  /** Undefined if conversations are not compacted. */
  readonly compaction: TurnCompaction | undefined;
  readonly limits: TurnLimits;
  /** Whether a turn that repeats itself is ended. If a person watches the turn, the model only gets a warning. */
  readonly haltsLoops: boolean;
  /** Consecutive denials after which the model is asked to stop; one more ends the turn. */
  readonly maxDenials: number;
  /** Whether the turn ends when nobody answers a question about a call in time. */
  readonly endsUnanswered: boolean;
  readonly clock: Clock;
  /** Returns the user's notes since the previous call, oldest first, and clears them. */
  takeSteers(): readonly string[];
}

/** The first hashes of a prefix: the tools and the system prompt. */
const FIXED_HASHES = 2;
const MAX_CALLS = 64; // per answer; a model that makes more calls is malfunctioning
const MAX_ANSWER_CHARS = 4_000_000;

/**
 * Sends requests to the model and runs the tools that it calls, until it calls none. The turn stores nothing itself:
 * the consumer commits each durable event before it requests the next one, and the turn does not proceed until then.
 */
export async function* runTurn(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
  using limits = watchLimits(turn.limits, turn.clock);
  /** Aborts running work when the turn is stopped and when its time is up. */
  const ending = AbortSignal.any([signal, limits.timeUp]);
  setMaxListeners(0, ending); // every running call adds a listener
  let history = withoutRefusedPictures(turn.history);
  const tools = turn.definitions;
  const loops = createLoopDetector();
  const denials = createDenialCounter(turn.maxDenials);
  let isUnanswered = false;
  let prefix = turn.lastPrefix;
  let requests = 0;
  let usage: Usage = NO_USAGE;
  let costUsd: number | undefined;
  let cuts = 0;
  let continuedText = ""; // text of earlier answers that were cut by a length limit and continued in the next one
  let answerText = ""; // text of the latest answer received so far
  let isWrappingUp = false;
  let wasWarned = false;
  let isEstimated = false;
  let unanswered: AnswerFacts = NOT_ASKED; // the last request, if it failed
  const compactor =
    turn.compaction &&
    createCompactor(turn.compaction, tools, (used, cost) => {
      usage = addUsage(usage, used);
      costUsd = addCost(costUsd, cost);
    });
  const notes: string[] = []; // sent to the model with the next request

  /** Adds a placeholder for a missing answer, because a conversation must not have two user messages in a row. */
  function* endTurn(
    outcome: TurnOutcome,
    text: string,
    why?: TurnEndReason,
    placeholderStart = "[No answer: ",
  ): Generator<AgentEvent> {
    if (history.at(-1)?.role !== "assistant")
      yield assistantEvent(
        {
          role: "assistant",
          parts: [{ type: "text", text: `${placeholderStart}${why?.reason ?? outcome}]` }],
        },
        unanswered,
      );
    yield {
      type: "turn-end",
      turnId: turn.turnId,
      outcome,
      text: continuedText + text,
      reason: why?.reason,
      hint: why?.hint,
      requests,
      usage,
      costUsd,
    };
  }
  const assistantEvent = (message: AssistantMessage, end: AnswerFacts = NOT_ASKED): AgentEvent => {
    history.push(message);
    return {
      type: "assistant",
      message,
      ...end,
      provider: turn.model.provider,
      model: turn.model.name,
    };
  };
  /** Adds a request to the tokens and cost of the turn, and returns its cost. `estimate` supplies missing counts. */
  const spend = (used: Usage, estimate: Usage = NO_USAGE): number | undefined => {
    const cost = calculateCost(fillUsage(used, estimate), turn.model.price);
    usage = addUsage(usage, used);
    costUsd = addCost(costUsd, cost);
    return cost;
  };
  const addNote = (text: string): AgentEvent => {
    // The keys have the same order as in a loaded note, because hashes of a prompt may depend on it.
    const message: UserMessage = { role: "user", parts: [{ type: "text", text }], kind: "steer" };
    history.push(message);
    return { type: "steer", message };
  };

  /** Runs calls and stores their results in the order of the calls. Returns the reason if the turn must end. */
  async function* runCalls(calls: readonly ToolCallPart[]): AsyncGenerator<AgentEvent, string | undefined> {
    const ends = new Map<string, AgentEventOf<"tool-end">>();
    const run = calls.slice(0, MAX_CALLS);
    let halt: string | undefined;
    for await (const event of runTools(run, turn.rules, ending)) {
      if (event.type === "approval-asked") limits.pause();
      if (event.type === "approval-answered") {
        limits.resume();
        isUnanswered ||= event.approval.kind === "approval" && event.approval.state === "expired";
      }
      if (event.type === "call-reviewed") {
        usage = addUsage(usage, event.usage);
        costUsd = addCost(costUsd, event.costUsd);
      }
      if (event.type !== "tool-end") {
        yield event;
        continue;
      }
      denials.observe(event, findTool(turn.rules.tools, event.tool)?.mutates ?? false);
      loops.observe({
        tool: event.tool,
        input: run.find(({ callId }) => callId === event.callId)?.input ?? "",
        failed: event.outcome === "failed",
        text: event.text,
        mutates: findTool(turn.rules.tools, event.tool)?.mutates ?? false,
        durationMs: event.durationMs,
      });
      const isLast = ends.size === run.length - 1;
      const verdict = isLast ? loops.endAnswer() : undefined;
      halt = verdict?.halt;
      const warnings = [verdict?.warning, denials.warning()].filter((text) => text !== undefined);
      const end =
        warnings.length === 0 ? event : { ...event, text: `${event.text}\n\n[${warnings.join(" ")}]` };
      ends.set(end.callId, end);
      yield end;
    }
    for (const call of calls.slice(MAX_CALLS)) {
      const end = createToolEnd(call, TOO_MANY_CALLS);
      ends.set(call.callId, end);
      yield end;
    }
    for (const call of calls) history.push(createResultMessage(call, ends.get(call.callId)));
    return halt;
  }

  /** Continues with a compacted history. Its prompt differs on purpose, except for the tools and the system prompt. */
  const useCompacted = (compacted: Message[]): void => {
    if (compacted !== history) prefix = prefix.slice(0, FIXED_HASHES);
    history = compacted;
  };

  async function* refuseCalls(calls: readonly ToolCallPart[], why: string): AsyncGenerator<AgentEvent> {
    for (const call of calls) {
      const end = createToolEnd(call, why);
      history.push(createResultMessage(call, end));
      yield end;
    }
  }

  const interrupted = turn.interrupted && endInterrupted(turn.interrupted.turnId, history.at(-1));
  yield { type: "turn-start", turnId: turn.turnId, message: turn.message, interrupted };
  if (interrupted?.answer) history.push(interrupted.answer);
  history.push(turn.message);
  const { pending = [] } = turn.interrupted ?? {};
  history = yield* reportPending(pending, history, (one) => turn.lookUp(one, ending));

  for (;;) {
    if (signal.aborted) return yield* endTurn("stopped", "", STOPPED);
    const spent = limits.findReached(requests, costUsd);
    // Do not request a summary: that request could take as long as the previous one.
    if (limits.timeUp.aborted) return yield* endTurn("budget", answerText, limits.explainTimeUp());
    if (compactor && !isWrappingUp) useCompacted(yield* compactor.whenLong(history, ending));
    if (ending.aborted) continue;
    if (history.at(-1)?.role !== "user") notes.push(...turn.takeSteers());
    if (spent !== undefined && !isWrappingUp) {
      isWrappingUp = true;
      // Request one last answer, so that the user gets a summary of the work.
      notes.push(`${spent.reason} ${WRAP_UP}`);
    } else if (!wasWarned && limits.isTimeShort()) {
      wasWarned = true;
      notes.push(TIME_SHORT);
    }
    // Send all notes as one message, and never after a user message: some servers refuse two user messages in a row.
    const note = notes.splice(0).join("\n\n");
    if (note !== "" && history.at(-1)?.role !== "user") yield addNote(note);
    requests++;
    const answer: { end?: ModelEvent & { type: "message-end" }; failure?: ModelFailure } = {};
    const asking = new AbortController();
    let received = 0;
    answerText = "";
    const messages = [...history];
    for await (const event of turn.ask({ messages, tools }, AbortSignal.any([ending, asking.signal]))) {
      if (event.type === "request-sent") {
        answerText = "";
        const broken = findPrefixChange(prefix, event.prefix);
        if (broken) yield { type: "cache-broken", ...broken };
        ({ prefix } = event);
        const { provider, name: model, keySource } = turn.model;
        yield { ...event, provider, model, keySource };
      } else if (event.type === "route-switched") {
        // Only what was answered before can be in a cache.
        const cached = turn.lastPrefix.length > 0 || requests > 1 ? messages : [];
        yield { ...event, ...estimateCacheLoss(cached, turn.model.price) };
        prefix = []; // another wire format has other hashes
      } else if (event.type === "message-end") answer.end = event;
      else if (event.type === "failed") answer.failure = event.failure;
      else if (event.type === "tool-input-delta") received += event.text.length;
      else {
        if ("text" in event) received += event.text.length;
        if (event.type === "text-delta") answerText += event.text;
        if (event.type === "attempt-failed")
          yield { ...event, costUsd: spend(event.failure.usage ?? NO_USAGE) };
        else yield event;
      }
      if (received > MAX_ANSWER_CHARS) asking.abort();
    }
    turn.onAnswer(answer.failure);
    if (answer.end === undefined) {
      const used = answer.failure?.usage ?? NO_USAGE;
      unanswered = { ...NOT_ASKED, usage: used, costUsd: spend(used) };
      if (ending.aborted && answerText !== "") {
        const why = signal.aborted ? STOPPED : limits.explainTimeUp();
        const kept = `${answerText}\n\n[Cut off: ${why.reason}]`;
        yield assistantEvent({ role: "assistant", parts: [{ type: "text", text: kept }] }, unanswered);
      }
      if (ending.aborted) continue;
      const { failure } = answer;
      if (
        compactor &&
        failure &&
        (failure.kind === "too-long" || compactor.isProbablyTooLong(history, failure))
      ) {
        const compacted = yield* compactor.whenRefused(history, failure, unanswered.costUsd, ending);
        if (compacted) useCompacted(compacted);
        if (compacted || ending.aborted) continue;
      }
      const why = received > MAX_ANSWER_CHARS ? ENDLESS_ANSWER : explainFailure(answer.failure);
      if (!mayBeCausedByPictures(answer.failure, messages)) return yield* endTurn("failed", "", why);
      const hint = `${PICTURES_HINT} ${why.hint}`;
      return yield* endTurn("failed", "", { ...why, hint }, PICTURES_REFUSED_PREFIX);
    }
    const { finish, usage: used } = answer.end;
    const isUncounted = used.inputTokens === undefined || used.outputTokens === undefined;
    if (isUncounted && turn.limits.maxCostUsd !== undefined && turn.model.price !== undefined) {
      if (!isEstimated) yield { type: "notice", text: ESTIMATED };
      isEstimated = true;
    }
    const cost = spend(used, isEstimated ? estimateUsage({ messages, tools }, answer.end.message) : NO_USAGE);
    const { message, refused, cut } = classifyAnswerEnd(answer.end, turn.model.provider);
    yield assistantEvent(message, { finish, usage: used, costUsd: cost });
    compactor?.onAnswer(history, used);
    const calls = toolCallsOf(message);
    const text = textOf(answer.end.message);
    answerText = text;
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
      let compacted: Message[] | undefined;
      if (compactor && finish === "window" && cuts === 0)
        compacted = yield* compactor.whenFull(history, ending);
      if (compacted) useCompacted(compacted);
      if (++cuts > cut.maxConsecutive && !compacted) return yield* endTurn("cut", text, cut);
      if (cut.isText) continuedText += text;
      answerText = "";
      continue;
    }
    cuts = 0;
    continuedText = "";
    const halt = yield* runCalls(calls);
    if (ending.aborted) continue;
    if (denials.mustEnd()) return yield* endTurn("denied", text, DENIED);
    if (isUnanswered && turn.endsUnanswered) return yield* endTurn("denied", text, UNANSWERED);
    if (halt !== undefined && turn.haltsLoops) {
      const why = {
        reason: `The turn is stuck in a loop: ${halt}.`,
        hint: "Say what should be done differently.",
      };
      return yield* endTurn("failed", text, why);
    }
  }
}

type AnswerFacts = Pick<AgentEventOf<"assistant">, "finish" | "usage" | "costUsd">;

const NOT_ASKED: AnswerFacts = { finish: "other", usage: NO_USAGE, costUsd: undefined };
const ESTIMATED =
  "The server does not report how many tokens it used, so the cost limit is applied to an estimate.";
const TOO_MANY_CALLS = `Not run: one answer can run at most ${MAX_CALLS} calls. Call it again if it is still needed.`;
const STOPPED = { reason: "The turn was stopped.", hint: "Send a message to continue." };
const DENIED = {
  reason: "The turn was ended because the model kept trying what it was not allowed to do.",
  hint: "See the denied calls with `hermes audit`, or allow them with a rule in approvals.allow.",
};
const UNANSWERED = {
  reason: "The turn was ended because nobody answered a question in time.",
  hint: "Send a message to continue. A call that still needs approval is asked about again.",
};
const ENDLESS_ANSWER = {
  reason: "The model did not stop writing.",
  hint: "Try again, or use another model.",
};
const PICTURES_HINT =
  "A picture may be the cause: hermes -c continues without the pictures, and --image attaches others.";
const WRAP_UP = "Call no more tools. Answer now: what is done, what is not, and what you would do next.";
const TIME_SHORT = "[Most of the time for this task is used up. Finish what matters and answer.]";

function explainFailure(failure: ModelFailure | undefined): TurnEndReason {
  return {
    reason: failure?.message ?? "the model gave no answer",
    hint: failure?.hint ?? "Try again.",
  };
}

function reasoningOf({ parts }: AssistantMessage): string {
  return parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
}

/** Finds the first message that differs from the earlier prompt; undefined if the later prompt only extends it. */
function findPrefixChange(
  earlier: readonly string[],
  later: readonly string[],
): { readonly at: number; readonly what: string } | undefined {
  const at = commonPrefixLength(earlier, later);
  if (at === earlier.length) return undefined;
  // Providers hash a body in this order: tools, system prompt, messages.
  const what = at === 0 ? "the tools" : at === 1 ? "the system prompt" : `message ${at - 1}`;
  return { at, what: `${what} ${at < later.length ? "changed" : "was removed"}` };
}
