import { type AssistantMessage, textOf, toolCallsOf } from "../providers/message.ts";
import type { ModelEvent } from "../providers/provider.ts";

/** Why a turn ended, and what the user can do next. */
export interface TurnEndReason {
  readonly reason: string;
  readonly hint: string;
}

/** How an answer ended, and what that means for its turn. */
export interface AnswerEnd {
  /** The message to store. Never empty: without it, the conversation would have two user messages in a row. */
  readonly message: AssistantMessage;
  /** The answer was refused: none of its calls may run. */
  readonly refused?: TurnEndReason;
  /** The answer was cut at a limit. The calls in its message are complete. */
  readonly cut?: TurnEndReason & {
    readonly note: string;
    /** How many answers of this kind in a row may be followed by another request; 0 if the context window is full. */
    readonly maxConsecutive: number;
    /** Whether the text of the answer was cut; the next answer then continues it. */
    readonly isText: boolean;
  };
}

type MessageEnd = Extract<ModelEvent, { type: "message-end" }>;

/** Decides whether an answer is complete, cut or refused. */
export function classifyAnswerEnd(
  { message, finish, droppedTools }: MessageEnd,
  provider: string,
): AnswerEnd {
  if (finish === "content-filter") {
    const reason = `${provider} ended the answer with a refusal: the model declined, or a content filter stopped it.`;
    const hint = "Rephrase the request, or choose another model (-m, in a chat /model).";
    return { message: withPlaceholder(message, "No answer: refused"), refused: { reason, hint } };
  }
  if (finish === "tool-calls" && toolCallsOf(message).length === 0) {
    const reason = "The answer announced a call that it does not contain.";
    return {
      message: withPlaceholder(message, reason),
      cut: { reason, hint: LOST_CALL_HINT, note: LOST_CALL_NOTE, maxConsecutive: 1, isText: false },
    };
  }
  if (finish !== "length" && finish !== "window") return { message };
  const isWindow = finish === "window";
  const limit = isWindow ? "the end of the model's context window" : "the model's output limit";
  const calls = droppedTools.join(" and ");
  const isText = calls === "" && textOf(message).trim() !== "";
  const what = calls !== "" ? `The call to ${calls}` : isText ? "The answer" : "The model's reasoning";
  const reason = `${what} was cut off by ${limit}.`;
  return {
    message: withPlaceholder(message, reason),
    cut: {
      reason,
      hint: isWindow ? WINDOW_HINT : LIMIT_HINT,
      note: calls !== "" ? callNote(calls, limit) : isText ? CONTINUE_NOTE : thinkLessNote(limit),
      maxConsecutive: isWindow ? 0 : MAX_CUT_ANSWERS,
      isText,
    },
  };
}

const MAX_CUT_ANSWERS = 3; // consecutive answers without a call that were cut by a length limit
const LOST_CALL_HINT =
  "The server may not support calls with this model; choose another model (-m, in a chat /model).";
const LOST_CALL_NOTE = "[Your answer announced a call, but it contains none. Make the call now, or answer.]";
const WINDOW_HINT = "Continue in a new session, or choose a model with a larger context window.";
const LIMIT_HINT =
  "Raise model.max_tokens if it is set, ask for less at once, or choose another model (-m, in a chat /model).";
const CONTINUE_NOTE = "[Your answer was cut off by a length limit. Continue exactly where it stopped.]";

function thinkLessNote(limit: string): string {
  return `[You reached ${limit} before you answered. Think less, and answer or act now.]`;
}

function callNote(calls: string, limit: string): string {
  return `[Your call to ${calls} was cut off by ${limit}, so it was not run. Call it again with a shorter input; for instance, write a long file in several parts.]`;
}

function withPlaceholder(message: AssistantMessage, placeholder: string): AssistantMessage {
  if (textOf(message).trim() !== "" || toolCallsOf(message).length > 0) return message;
  const parts = message.parts.filter(({ type }) => type !== "text");
  return { ...message, parts: [...parts, { type: "text", text: `[${placeholder}]` }] };
}
