import type { AgentEvent, AgentEventOf } from "../../agent/events.ts";
import type { TurnLimits } from "../../agent/loop.ts";
import { AppError } from "../../lib/errors.ts";
import type { UserMessage } from "../../providers/message.ts";
import type { ModelFailure } from "../../providers/provider.ts";
import type { BoardStore } from "../board-store.ts";
import type { RunCaller } from "../caller.ts";
import type { Comment } from "../task.ts";
import { OWN_RESULTS } from "./judge-end.ts";
import { WORKER_EXITS } from "./worker-exits.ts";
import { CHECKPOINT_NOTE, commentNote, nudgeWords } from "./worker-words.ts";

/** The conversation in which a task is worked on. */
export interface Talk {
  readonly sessionId: string;
  say(message: UserMessage, limits: TurnLimits, signal: AbortSignal): AsyncIterable<AgentEvent>;
  steer(text: string): void;
  failure(): ModelFailure | undefined;
}

export interface Work {
  readonly store: BoardStore;
  readonly caller: RunCaller;
  readonly talk: Talk;
  readonly message: UserMessage;
  readonly limits: TurnLimits;
  /** How often a model that stops too early is reminded. */
  readonly nudges: number;
  /** The newest comment that is in the message. */
  readonly seenComment: number;
  /** Sees each event, for whoever watches. */
  show(event: AgentEvent): void;
}

const BEAT_MS = 60_000;
/** Of the requests that a turn may make. */
const CHECKPOINT_AT = 0.9;

/**
 * Drives a conversation until its run has a result, and resolves with the exit code of the worker. What it used is
 * written to the run as it is used, and comments reach the model at the end of each batch of tool calls.
 */
export async function workTask(work: Work, signal: AbortSignal): Promise<number> {
  const { store, caller, talk, limits } = work;
  const client = store.as(caller);
  await client.describeRun({ sessionId: talk.sessionId }, signal);
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const checkpoint = Math.floor((limits.maxRequests ?? 0) * CHECKPOINT_AT);
  let seen = work.seenComment;
  let beatAt = performance.now();
  let outcome: string | undefined; // of the run, once it has one

  /** The comments since the last look; also finds out whether the run is over. */
  async function look(): Promise<readonly Comment[]> {
    const { comments, runs } = await store.show(caller.taskId, signal);
    outcome = runs.find(({ id }) => id === caller.runId)?.outcome ?? undefined;
    const fresh = comments.filter(({ id, author }) => id > seen && author !== caller.profile);
    seen = Math.max(seen, ...comments.map(({ id }) => id));
    return outcome === undefined ? fresh : [];
  }

  async function observe(event: AgentEvent): Promise<void> {
    if (event.type === "assistant") await client.describeRun(usageOf(event), signal);
    else if (performance.now() - beatAt > BEAT_MS) {
      beatAt = performance.now();
      await client.renew({}, signal);
    }
  }

  async function turn(message: UserMessage): Promise<AgentEventOf<"turn-end"> | undefined> {
    let end: AgentEventOf<"turn-end"> | undefined;
    let running = 0;
    let requests = 0;
    for await (const event of talk.say(message, limits, stop)) {
      work.show(event);
      if (event.type === "turn-end") end = event;
      if (event.type === "tools-start") running = event.calls.length;
      if (event.type === "assistant" && ++requests === checkpoint) talk.steer(CHECKPOINT_NOTE);
      if (outcome === undefined && !signal.aborted) await observe(event);
      if (event.type !== "tool-end" || --running > 0 || signal.aborted) continue;
      const fresh = await look();
      for (const comment of fresh) talk.steer(commentNote(comment));
      if (fresh.length > 0) await acknowledge(fresh);
      if (outcome !== undefined) over.abort(); // nothing is to be done after a result
    }
    return end;
  }

  async function acknowledge(comments: readonly Comment[]): Promise<void> {
    await client.renew({ note: `read comment ${comments.map(({ id }) => id).join(", ")}` }, signal);
  }

  try {
    let message = work.message;
    for (let nudges = work.nudges; ; nudges--) {
      const end = await turn(message);
      if (signal.aborted) return WORKER_EXITS.terminated;
      const fresh = await look();
      if (outcome !== undefined) return OWN_RESULTS.has(outcome) ? WORKER_EXITS.over : WORKER_EXITS.failed;
      if (end?.outcome !== "completed") return exitOf(end, talk.failure());
      if (nudges <= 0) return WORKER_EXITS.over;
      if (fresh.length > 0) await acknowledge(fresh);
      const text = nudgeWords(caller.taskId, fresh.map(commentNote));
      message = { role: "user", parts: [{ type: "text", text }] };
    }
  } catch (error) {
    if (signal.aborted) return WORKER_EXITS.terminated;
    throw error instanceof AppError && error.code === "run-superseded" ? stopped(error) : error;
  }
}

function stopped(cause: AppError): AppError {
  return new AppError(cause.code, `${cause.message} This worker ends.`, { cause });
}

function usageOf({ usage, costUsd = 0 }: AgentEventOf<"assistant">) {
  return {
    inputTokens: usage.inputTokens ?? 0,
    outputTokens: usage.outputTokens ?? 0,
    cachedTokens: usage.cacheReadTokens ?? 0,
    costMicros: Math.round(costUsd * 1_000_000),
  };
}

const EXIT_OF_FAILURE: { readonly [Kind in ModelFailure["kind"]]?: number } = {
  quota: WORKER_EXITS.quota,
  "rate-limited": WORKER_EXITS.quota,
  auth: WORKER_EXITS.provider,
  "not-found": WORKER_EXITS.provider,
};

function exitOf(end: AgentEventOf<"turn-end"> | undefined, failure: ModelFailure | undefined): number {
  if (end?.outcome === "budget") return WORKER_EXITS.budget;
  return (failure && EXIT_OF_FAILURE[failure.kind]) ?? WORKER_EXITS.failed;
}
