import type { Clock } from "../../lib/time/clock.ts";
import {
  FAILURE_KINDS,
  type Model,
  type ModelEvent,
  type ModelFailure,
  type ModelRequest,
} from "../provider.ts";

/** An attempt failed and another one follows: consumers discard everything streamed since `request-sent`. */
export interface AttemptFailed {
  readonly type: "attempt-failed";
  readonly failure: ModelFailure;
  readonly retryInMs: number;
}

/** A model that retries failed requests. Its stream keeps the contract of `Model` across attempts. */
export interface RetryingModel extends Omit<Model, "stream"> {
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent | AttemptFailed>;
}

export interface RetryOptions {
  /** Maximum number of attempts after the first one. */
  readonly maxRetries: number;
  /** Whether the user may already have read the text of an attempt when it fails. */
  readonly showsText: boolean;
  /** Whether another key can be used. If so, a rate limit is retried only once, and only after a short wait. */
  readonly hasSpareKey?: boolean;
  readonly clock: Clock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const LONGEST_RETRY_AFTER_MS = 120_000; // a longer wait fails the request, so that the caller can use another provider
const LONGEST_WAIT_WITH_SPARE_KEY_MS = 10_000;

/** Retries attempts with temporary failures, with increasing waits, and yields the last failure. */
export function withRetries(
  model: Model,
  { maxRetries, showsText, hasSpareKey = false, clock, random }: RetryOptions,
): RetryingModel {
  return {
    ...model,
    async *stream(request, signal) {
      for (let attempt = 0; ; attempt++) {
        let failure: ModelFailure | undefined;
        for await (const event of model.stream(request, signal)) {
          if (event.type === "failed") failure = event.failure;
          else yield event;
        }
        if (failure === undefined) return;
        const retryInMs = retryDelay(attempt, failure.retryAfterMs, random);
        const leavesToSpareKey =
          hasSpareKey &&
          failure.kind === "rate-limited" &&
          (attempt > 0 || (failure.retryAfterMs ?? 0) > LONGEST_WAIT_WITH_SPARE_KEY_MS);
        if (attempt >= maxRetries || signal.aborted || leavesToSpareKey || !mayRetry(failure, showsText)) {
          yield { type: "failed", failure };
          return;
        }
        yield { type: "attempt-failed", failure, retryInMs };
        const stopped = await clock.sleep(retryInMs, signal).then(
          () => false,
          () => true, // the sleep ends early only if the signal aborts
        );
        if (stopped || signal.aborted) {
          yield { type: "failed", failure: toAborted(failure) };
          return;
        }
      }
    },
  };
}

function mayRetry(failure: ModelFailure, showsText: boolean): boolean {
  const { kind, retryAfterMs = 0 } = failure;
  return (
    FAILURE_KINDS[kind].retriable && retryAfterMs <= LONGEST_RETRY_AFTER_MS && mayRepeat(failure, showsText)
  );
}

/** Whether the request may be sent again. One whose text the user has already seen is repeated only if tool calls were lost. */
export function mayRepeat({ sawText, droppedTools }: ModelFailure, showsText: boolean): boolean {
  return !(sawText && showsText) || droppedTools.length > 0;
}

function retryDelay(attempt: number, retryAfterMs: number | undefined, random: () => number): number {
  const backoff = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt) * (0.5 + random() / 2);
  // Never retry earlier than asked; the jitter spreads the retries of several clients.
  return Math.round(Math.max(backoff, (retryAfterMs ?? 0) * (1 + random() / 10)));
}

function toAborted(failure: ModelFailure): ModelFailure {
  return {
    ...failure,
    kind: "aborted",
    message: `Stopped while waiting to retry. ${failure.message}`,
    hint: "Send a message to continue.",
    retryAfterMs: undefined,
  };
}
