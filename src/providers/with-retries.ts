import type { Clock } from "../lib/clock.ts";
import {
  FAILURE_KINDS,
  type Model,
  type ModelEvent,
  type ModelFailure,
  type ModelRequest,
} from "./provider.ts";

/** An attempt failed and another follows: what was streamed since `request-sent` is void. */
export interface AttemptFailed {
  readonly type: "attempt-failed";
  readonly failure: ModelFailure;
  readonly retryInMs: number;
}

/** A model that asks again by itself. Its stream keeps the promises of `Model`, over several attempts. */
export interface RetryingModel extends Omit<Model, "stream"> {
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent | AttemptFailed>;
}

export interface RetryOptions {
  /** Attempts after the first one. */
  readonly maxRetries: number;
  /** Whether somebody has read the text of an attempt by the time that it fails. */
  readonly showsText: boolean;
  readonly clock: Clock;
  /** From 0 up to, but not, 1. */
  random(): number;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const LONGEST_RETRY_AFTER_MS = 120_000; // who asks for more is passed on, so that another provider can take over

/** Repeats attempts whose failure may pass, later and later, and passes the last failure on. */
export function withRetries(
  model: Model,
  { maxRetries, showsText, clock, random }: RetryOptions,
): RetryingModel {
  return {
    provider: model.provider,
    name: model.name,
    contextTokens: model.contextTokens,
    price: model.price,
    async *stream(request, signal) {
      for (let attempt = 0; ; attempt++) {
        let failure: ModelFailure | undefined;
        for await (const event of model.stream(request, signal)) {
          if (event.type === "failed") failure = event.failure;
          else yield event;
        }
        if (failure === undefined) return;
        const retryInMs = waitBefore(attempt, failure.retryAfterMs, random);
        if (attempt >= maxRetries || signal.aborted || !mayRepeat(failure, showsText)) {
          yield { type: "failed", failure };
          return;
        }
        yield { type: "attempt-failed", failure, retryInMs };
        const stopped = await clock.sleep(retryInMs, signal).then(
          () => false,
          () => true, // only the signal ends a sleep early
        );
        if (stopped || signal.aborted) {
          yield { type: "failed", failure: stoppedInstead(failure) };
          return;
        }
      }
    },
  };
}

function mayRepeat(
  { kind, sawText, droppedTools, retryAfterMs = 0 }: ModelFailure,
  showsText: boolean,
): boolean {
  if (!FAILURE_KINDS[kind].retriable || retryAfterMs > LONGEST_RETRY_AFTER_MS) return false;
  // Text that a person has read would come twice; a call that died was announced by it, and is worth it.
  return !(sawText && showsText) || droppedTools.length > 0;
}

function waitBefore(attempt: number, retryAfterMs: number | undefined, random: () => number): number {
  const backoff = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt) * (0.5 + random() / 2);
  // Never earlier than asked, and not all at the same moment.
  return Math.round(Math.max(backoff, (retryAfterMs ?? 0) * (1 + random() / 10)));
}

function stoppedInstead(failure: ModelFailure): ModelFailure {
  return {
    ...failure,
    kind: "aborted",
    message: `Stopped while waiting to ask again. ${failure.message}`,
    hint: "Send a message to go on.",
    retryAfterMs: undefined,
  };
}
