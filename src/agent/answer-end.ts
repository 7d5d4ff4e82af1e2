import { type AssistantMessage, textOf, toolCallsOf } from "../providers/message.ts";
import type { ModelEvent } from "../providers/provider.ts";

/** Why a turn ended as it did, and what a person can do next. */
export interface Why {
  readonly reason: string;
  readonly hint: string;
}

/** What the end of an answer means for its turn. */
export interface AnswerEnd {
  /** As it is kept: never one with nothing in it, because the next message would then follow one of a person. */
  readonly message: AssistantMessage;
  /** The answer was refused: none of its calls may run. */
  readonly refused?: Why;
  /** The answer was cut at a limit. Calls that are in the message came whole. */
  readonly cut?: Why & {
    /** What the model is told when it goes on. */
    readonly note: string;
    /** False when there is no room left for more. */
    readonly mayGoOn: boolean;
    /** Whether it was cut in its text, which then goes on where it stopped. */
    readonly isText: boolean;
  };
}

type MessageEnd = Extract<ModelEvent, { type: "message-end" }>;

/** Tells an answer that was cut or refused from one that is whole. */
export function readAnswerEnd({ message, finish, droppedTools }: MessageEnd, provider: string): AnswerEnd {
  if (finish === "content-filter") {
    const reason = `${provider} ended the answer with a refusal: the model declined, or a content filter stopped it.`;
    const hint = "Ask in another way, or choose another model with -m.";
    return { message: withWords(message, "No answer: refused"), refused: { reason, hint } };
  }
  if (finish !== "length" && finish !== "window") return { message };
  const isWindow = finish === "window";
  const limit = isWindow ? "the end of the model's context window" : "the model's output limit";
  const calls = droppedTools.join(" and ");
  const isText = calls === "" && textOf(message).trim() !== "";
  const what = calls !== "" ? `The call of ${calls}` : isText ? "The answer" : "The model's reasoning";
  const reason = `${what} was cut off by ${limit}.`;
  return {
    message: withWords(message, reason),
    cut: {
      reason,
      hint: isWindow ? WINDOW_HINT : LIMIT_HINT,
      note: calls !== "" ? callNote(calls, limit) : isText ? GO_ON : answerNow(limit),
      mayGoOn: !isWindow,
      isText,
    },
  };
}

const WINDOW_HINT = "Go on in a new session, or choose a model with a larger window.";
const LIMIT_HINT =
  "Raise model.max_tokens if it is set, ask for less at once, or choose another model with -m.";
const GO_ON = "[Your answer was cut off by its length. Go on exactly where it stopped.]";

function answerNow(limit: string): string {
  return `[You reached ${limit} before you answered. Think less, and answer or act now.]`;
}

function callNote(calls: string, limit: string): string {
  return `[Your call of ${calls} was cut off by ${limit}, so it was not run. Call it again with less in it: write a long file in several parts, for instance.]`;
}

function withWords(message: AssistantMessage, words: string): AssistantMessage {
  if (textOf(message).trim() !== "" || toolCallsOf(message).length > 0) return message;
  const parts = message.parts.filter(({ type }) => type !== "text");
  return { ...message, parts: [...parts, { type: "text", text: `[${words}]` }] };
}
