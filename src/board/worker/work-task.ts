import type { AgentEvent, AgentEventOf } from "../../agent/events.ts";
import type { TurnLimits } from "../../agent/turn-limits.ts";
import { AppError } from "../../lib/errors.ts";
import type { UserMessage } from "../../providers/message.ts";
import type { ModelFailure } from "../../providers/provider.ts";
import type { BoardStore } from "../board-store.ts";
import type { RunCaller } from "../caller.ts";
import { WORKER_OUTCOMES } from "../supervisor/classify-exit.ts";
import type { Comment } from "../task.ts";
import { WORKER_EXIT_CODES } from "./worker-exits.ts";
import { CHECKPOINT_NOTE, renderCommentNote, renderQuestion, renderReminder } from "./worker-messages.ts";

/** The conversation in which a task is worked on. */
export interface WorkConversation {
  readonly sessionId: string;
  runTurn(message: UserMessage, limits: TurnLimits, signal: AbortSignal): AsyncIterable<AgentEvent>;
  steer(text: string): void;
  failure(): ModelFailure | undefined;
}

export interface Work {
  readonly store: BoardStore;
  readonly caller: RunCaller;
  readonly conversation: WorkConversation;
  readonly message: UserMessage;
  readonly limits: TurnLimits;
  /** How many times a model that stops without a result is reminded. */
  readonly maxReminders: number;
  /** The id of the newest comment in the message. */
  readonly seenComment: number;
  /** Displays each event in the log of the run. */
  logEvent(event: AgentEvent): void;
}

const BEAT_MS = 60_000;
/** The share of the permitted requests after which the model is asked to finish. */
const CHECKPOINT_AT = 0.9;

/** Drives a conversation until its run has a result; resolves with the exit code. New comments reach the model between steps. */
export async function workTask(work: Work, signal: AbortSignal): Promise<number> {
  const { store, caller, conversation, limits } = work;
  const client = store.as(caller);
  await client.describeRun({ sessionId: conversation.sessionId }, signal);
  const done = new AbortController();
  const stop = AbortSignal.any([signal, done.signal]);
  const checkpoint = Math.floor((limits.maxRequests ?? 0) * CHECKPOINT_AT);
  let seen = work.seenComment;
  let beatAt = performance.now();
  let outcome: string | undefined; // the outcome of the run, once it has ended

  /** The comments since the last poll; also updates `outcome`. */
  async function pollTask(): Promise<readonly Comment[]> {
    const { comments, runs } = await store.show(caller.taskId, signal);
    outcome = runs.find(({ id }) => id === caller.runId)?.outcome ?? undefined;
    const fresh = comments.filter(({ id, author }) => id > seen && author !== caller.profile);
    seen = Math.max(seen, ...comments.map(({ id }) => id));
    return outcome === undefined ? fresh : [];
  }

  async function observe(event: AgentEvent): Promise<void> {
    if (event.type === "assistant" || event.type === "call-reviewed")
      await client.describeRun(usageOf(event), signal);
    else if (performance.now() - beatAt > BEAT_MS) {
      beatAt = performance.now();
      await client.renew({}, signal);
    }
  }

  async function turn(message: UserMessage): Promise<AgentEventOf<"turn-end"> | undefined> {
    let end: AgentEventOf<"turn-end"> | undefined;
    let running = 0;
    let requests = 0;
    for await (const event of conversation.runTurn(message, limits, stop)) {
      work.logEvent(event);
      if (event.type === "turn-end") end = event;
      if (event.type === "approval-asked" && outcome === undefined) {
        // The question may wait for days, so the worker does not wait for the answer.
        await client.block(
          caller.taskId,
          renderQuestion(event.approval, caller.taskId),
          "needs_input",
          signal,
        );
        outcome = "blocked";
        done.abort();
      }
      if (event.type === "tools-start") running = event.calls.length;
      if (event.type === "assistant" && ++requests === checkpoint) conversation.steer(CHECKPOINT_NOTE);
      if (outcome === undefined && !signal.aborted) await observe(event);
      if (event.type !== "tool-end" || --running > 0 || signal.aborted) continue;
      const fresh = await pollTask();
      for (const comment of fresh) conversation.steer(renderCommentNote(comment));
      if (fresh.length > 0) await acknowledge(fresh);
      if (outcome !== undefined) done.abort(); // a run with a result needs no further steps
    }
    return end;
  }

  async function acknowledge(comments: readonly Comment[]): Promise<void> {
    await client.renew({ note: `read comment ${comments.map(({ id }) => id).join(", ")}` }, signal);
  }

  try {
    let message = work.message;
    for (let nudges = work.maxReminders; ; nudges--) {
      const end = await turn(message);
      if (signal.aborted) return WORKER_EXIT_CODES.terminated;
      const fresh = await pollTask();
      if (outcome !== undefined)
        return WORKER_OUTCOMES.has(outcome) ? WORKER_EXIT_CODES.ended : WORKER_EXIT_CODES.failed;
      if (end?.outcome !== "completed") return exitOf(end, conversation.failure());
      if (nudges <= 0) return WORKER_EXIT_CODES.ended;
      if (fresh.length > 0) await acknowledge(fresh);
      const text = renderReminder(caller.taskId, fresh.map(renderCommentNote));
      message = { role: "user", parts: [{ type: "text", text }] };
    }
  } catch (error) {
    if (signal.aborted) return WORKER_EXIT_CODES.terminated;
    throw error instanceof AppError && error.code === "run-superseded" ? toStopError(error) : error;
  }
}

function toStopError(cause: AppError): AppError {
  return new AppError(cause.code, `${cause.message} This worker stops.`, { cause });
}

function usageOf({ usage, costUsd = 0 }: AgentEventOf<"assistant" | "call-reviewed">) {
  return {
    inputTokens: usage.inputTokens ?? 0,
    outputTokens: usage.outputTokens ?? 0,
    cachedTokens: usage.cacheReadTokens ?? 0,
    costMicros: Math.round(costUsd * 1_000_000),
  };
}

const EXIT_OF_FAILURE: { readonly [Kind in ModelFailure["kind"]]?: number } = {
  quota: WORKER_EXIT_CODES.quota,
  "rate-limited": WORKER_EXIT_CODES.quota,
  auth: WORKER_EXIT_CODES.provider,
  "not-found": WORKER_EXIT_CODES.provider,
};

function exitOf(end: AgentEventOf<"turn-end"> | undefined, failure: ModelFailure | undefined): number {
  if (end?.outcome === "budget") return WORKER_EXIT_CODES.budget;
  return (failure && EXIT_OF_FAILURE[failure.kind]) ?? WORKER_EXIT_CODES.failed;
}
