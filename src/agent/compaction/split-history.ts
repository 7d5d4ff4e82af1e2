import { cutMiddle } from "../../lib/text/shorten.ts";
import type { Message, UserMessage } from "../../providers/message.ts";
import { estimateTokens } from "../request-cost.ts";
import { type EarlierConversation, NOTHING_EARLIER, readSummaryMessage } from "./summary-message.ts";

export interface SplitRequest {
  /** The conversation, the system prompt first. */
  readonly history: readonly Message[];
  /** How many messages after the system prompt come from an earlier compaction. */
  readonly replaced: number;
  /** Tokens that the newest messages may take. */
  readonly tailTokens: number;
  /** Tokens that the newest message of the user may take. */
  readonly newestTokens: number;
}

/** A conversation, split into what a summary replaces and what the model still gets. */
export interface SplitHistory {
  /** What the previous summary says. */
  readonly earlier: EarlierConversation;
  readonly dropped: readonly Message[];
  /** The user's newest message and later notes, unless the tail contains them, and the user message that starts the tail. */
  readonly userParts: UserMessage["parts"];
  /** Whether the middle of one of these parts was cut. */
  readonly isMessageCut: boolean;
  /** The messages that these parts are from. */
  readonly answerable: readonly Message[];
  /** Messages of the tail that differ from the stored ones: they were shortened, or come from an earlier replacement. */
  readonly copied: readonly Message[];
  /** The newest messages, unchanged. */
  readonly kept: readonly Message[];
}

const CHARS_PER_TOKEN = 3;
const MAX_NOTES = 10;

/** Splits a conversation so that a call and its result stay together and the user's newest message survives. */
export function splitHistory({ history, replaced, tailTokens, newestTokens }: SplitRequest): SplitHistory {
  const all = history.filter(({ role }) => role !== "system");
  const [first, ...others] = all;
  const summary = first?.role === "user" ? readSummaryMessage(first) : undefined;
  const body =
    summary === undefined ? all : summary.message === undefined ? others : [summary.message, ...others];
  const unstored = replaced - (all.length - body.length);
  const { start, cut } = findTail(body, tailTokens);
  const dropped = body.slice(0, start);
  const tail = cut ?? body.slice(start);
  const newest = body.findLastIndex((message) => message.role === "user" && message.kind !== "steer");
  // A user message at the start of the tail is joined with the summary, because two user messages must not follow each other.
  const lost = body.filter(
    (message, index) =>
      message.role === "user" && (index === start || (newest !== -1 && index >= newest && index < start)),
  );
  const answerable = [...lost.slice(0, 1), ...lost.slice(1).slice(-MAX_NOTES)];
  const userParts = answerable.flatMap((message) => (message.role === "user" ? message.parts : []));
  const following = tail[0]?.role === "user" ? tail.slice(1) : tail;
  const copies = cut === undefined ? unstored - (body.length - following.length) : following.length;
  const limited = limitParts(userParts, newestTokens);
  return {
    earlier: summary?.earlier ?? NOTHING_EARLIER,
    dropped,
    userParts: limited,
    isMessageCut: limited !== userParts,
    answerable,
    copied: following.slice(0, Math.max(0, copies)),
    kept: following.slice(Math.max(0, copies)),
  };
}

/** Finds the start of the newest messages that fit. If even the last step is too long, `cut` is that step with shorter results. */
function findTail(
  body: readonly Message[],
  maxTokens: number,
): { readonly start: number; readonly cut?: readonly Message[] } {
  let left = maxTokens;
  let start = body.length;
  while (start > 0) {
    const from = body.findLastIndex(({ role }, index) => index < start && role !== "tool");
    const step = body.slice(from, start);
    left -= estimateTokens(step);
    if (left < 0 && start < body.length) break;
    if (left < 0) {
      const cut = shortenResults(step, maxTokens);
      // A call cannot be shortened, so a step with a huge call is summarised.
      return estimateTokens(cut) <= maxTokens ? { start: from, cut } : { start };
    }
    start = from;
  }
  return { start };
}

function shortenResults(step: readonly Message[], maxTokens: number): readonly Message[] {
  const results = step.filter(({ role }) => role === "tool").length;
  const maxChars = Math.floor((maxTokens * CHARS_PER_TOKEN) / (2 * Math.max(1, results)));
  return step.map((message) =>
    message.role === "tool" ? { ...message, text: shortenText(message.text, maxChars) } : message,
  );
}

/** Shortens the texts that together take more than `maxTokens`; pictures are kept. */
function limitParts(parts: UserMessage["parts"], maxTokens: number): UserMessage["parts"] {
  if (parts.length === 0 || estimateTokens(parts) <= maxTokens) return parts;
  const texts = parts.filter(({ type }) => type === "text").length;
  const maxChars = Math.floor((maxTokens * CHARS_PER_TOKEN) / (2 * Math.max(1, texts)));
  return parts.map((part) =>
    part.type === "text" && part.text.length > maxChars
      ? { ...part, text: shortenText(part.text, maxChars) }
      : part,
  );
}

function shortenText(text: string, maxChars: number): string {
  return cutMiddle(
    text,
    maxChars,
    (count) => `\n[${count} characters were cut here. The full text is stored; session_search finds it.]\n`,
  );
}
