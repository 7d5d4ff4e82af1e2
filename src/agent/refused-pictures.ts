import { type Message, type TextPart, textOf } from "../providers/message.ts";
import type { ModelFailure } from "../providers/provider.ts";

/** How the words begin that stand for an answer after such a request; they are what later turns know it by. */
export const PICTURES_LEFT_OUT = "[No answer, and the pictures up to here are no longer sent: ";

const NOTE: TextPart = {
  type: "text",
  text: "[A picture was here. The provider refused the request with it.]",
};

/** Whether pictures may be why a request failed. Sent again with each later message, they would end the session. */
export function refusesPictures(failure: ModelFailure | undefined, messages: readonly Message[]): boolean {
  if (failure === undefined || !messages.some(hasPicture)) return false;
  const { kind, message } = failure;
  return kind === "refused" || kind === "too-long" || (kind === "not-found" && /image|vision/i.test(message));
}

/** A conversation with a note in the place of each picture that an earlier request was refused with. */
export function withoutRefusedPictures(history: readonly Message[]): Message[] {
  const last = history.findLastIndex(
    (message) => message.role === "assistant" && textOf(message).startsWith(PICTURES_LEFT_OUT),
  );
  return history.map((message, index) =>
    index > last || !hasPicture(message)
      ? message
      : { ...message, parts: message.parts.map((part) => (part.type === "image" ? NOTE : part)) },
  );
}

function hasPicture(message: Message): message is Message & { role: "user" } {
  return message.role === "user" && message.parts.some(({ type }) => type === "image");
}
