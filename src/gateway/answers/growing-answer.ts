import type { Clock } from "../../lib/time/clock.ts";
import { waitAtMost } from "../../lib/time/wait-at-most.ts";
import { WakeFlag } from "../../lib/time/wake-flag.ts";
import type { ActResult } from "../platform.ts";

export interface StreamingRules {
  /** Seconds between two edits of one message. */
  readonly edit_interval: number;
  /** Characters that a text has before it is shown. */
  readonly buffer_threshold: number;
}

/** The message in which a text grows, as it is stored. */
export interface GrowingMessage {
  /** Undefined until the platform has accepted the message. */
  readonly messageId: string | undefined;
}

export interface GrowingAnswerParts {
  readonly clock: Clock;
  readonly rules: StreamingRules;
  /** The beginning of a text, as much as fits into one message. */
  head(text: string): string;
  /** Adds the message of a segment to the outbox. */
  post(segment: number, text: string): Promise<void>;
  find(segment: number): GrowingMessage | undefined;
  /** Stores the final text of a message; edits are then retried until one succeeds. */
  settle(segment: number, text: string): Promise<void>;
  /** Tries once to show a text in a message; may get lost. */
  edit(messageId: string, text: string, signal: AbortSignal): Promise<ActResult>;
}

/** The part of an unfinished text that was shown. */
export interface ShownText {
  /** The message that the rest belongs to; undefined if nothing was posted yet. */
  readonly segment: number | undefined;
  readonly text: string;
}

export interface GrowingAnswer {
  append(text: string): void;
  /** Drops the text, because the request to the model is repeated. */
  restart(): void;
  /** Completes the current message; later text becomes a new message. */
  endSegment(): Promise<void>;
  /** Stops showing text. Call it before the answer is stored, so that no late edit overwrites the answer. */
  close(): Promise<ShownText>;
}

const LONGEST_INTERVAL_MS = 10_000;
/** After this many refusals in a row, nothing more is shown until the turn ends. */
const MAX_STRIKES = 3;
const EDIT_WITHIN_MS = 5_000;

/**
 * Shows the text of a turn while it is written, in a message that grows. Only its first and its last version are stored; the
 * edits between them may get lost. After each refusal the next edit waits longer, and after some refusals there are no more edits.
 */
export function openGrowingAnswer(parts: GrowingAnswerParts): GrowingAnswer {
  const { clock, rules } = parts;
  const end = new AbortController();
  const tooLate = new AbortController();
  let segment = 0;
  let text = "";
  let shown: string | undefined; // undefined: the message of this segment was not posted yet
  let intervalMs = rules.edit_interval * 1_000;
  let quietUntil = 0;
  let strikes = 0;
  let step = Promise.resolve();
  const changed = new WakeFlag();

  /** Returns whether to try again even if the model writes nothing more. */
  async function show(): Promise<boolean> {
    const now = parts.head(text);
    if (strikes >= MAX_STRIKES || now === "" || now === shown) return false;
    if (shown === undefined) {
      if (text.length < rules.buffer_threshold) return false;
      await parts.post(segment, now);
      shown = now;
      return false;
    }
    const messageId = clock.now() < quietUntil ? undefined : parts.find(segment)?.messageId;
    if (messageId === undefined) return true; // the message was not accepted yet, or must not be edited now
    const result = await parts.edit(messageId, now, tooLate.signal);
    if (result.ok) {
      shown = now;
      strikes = 0;
      return false;
    }
    strikes++;
    intervalMs = Math.min(intervalMs * 2, LONGEST_INTERVAL_MS);
    quietUntil = clock.now() + Math.max(intervalMs, result.retryAfterMs ?? 0);
    return true;
  }

  async function run(): Promise<void> {
    for (;;) {
      await changed.next(end.signal); // waits without polling until the model writes text
      const showing = step.then(show);
      step = showing.then(
        () => undefined,
        () => undefined,
      );
      if (await showing) changed.touch();
      await clock.sleep(intervalMs, end.signal);
    }
  }
  run().catch(() => undefined); // ends with the turn; what could not be shown is in the answer

  return {
    append(delta) {
      text += delta;
      changed.touch();
    },
    restart() {
      text = "";
    },
    async endSegment() {
      if (text.trim() === "") return;
      await step;
      if (shown === undefined) await parts.post(segment, text);
      else await parts.settle(segment, text);
      segment++;
      text = "";
      shown = undefined;
    },
    async close() {
      end.abort();
      await waitAtMost(EDIT_WITHIN_MS, step);
      tooLate.abort();
      return { segment: shown === undefined ? undefined : segment, text };
    },
  };
}
