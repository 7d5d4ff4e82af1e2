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
  /** Set once the platform has it. */
  readonly messageId: string | undefined;
}

export interface GrowingAnswerParts {
  readonly clock: Clock;
  readonly rules: StreamingRules;
  /** The beginning of a text that fits into one message. */
  head(text: string): string;
  /** Adds the message of a segment to the outbox. */
  post(segment: number, text: string): Promise<void>;
  find(segment: number): GrowingMessage | undefined;
  /** Stores what a message is to say in the end; it is then edited as often as it takes. */
  settle(segment: number, text: string): Promise<void>;
  /** Shows a text in a message, if nothing speaks against it now; may get lost. */
  edit(messageId: string, text: string, signal: AbortSignal): Promise<ActResult>;
}

/** What a turn has shown so far of a text that was not completed. */
export interface ShownText {
  /** The message that the rest belongs to; undefined if nothing was posted yet. */
  readonly segment: number | undefined;
  readonly text: string;
}

export interface GrowingAnswer {
  append(text: string): void;
  /** The text begins again, because the request is repeated. */
  restart(): void;
  /** What was written is complete, and what follows is a message of its own. */
  endSegment(): Promise<void>;
  /** Shows nothing more. Call it before the answer is stored: an edit that is under way must not overtake the answer. */
  close(): Promise<ShownText>;
}

const LONGEST_INTERVAL_MS = 10_000;
/** Refusals in a row after which a turn shows nothing more before its end. */
const MAX_STRIKES = 3;
const EDIT_WITHIN_MS = 5_000;

/**
 * Shows the text of a turn while it is written, in a message that grows. Only its first version and its last are stored; those
 * between them are edits that may get lost. A service that refuses edits is asked more and more rarely, and then not at all.
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

  /** Whether there is more to show later without a further word of the model. */
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
    if (messageId === undefined) return true; // it is still on its way, or must not be edited now
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
      await changed.next(end.signal); // a turn that writes nothing costs nothing
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
