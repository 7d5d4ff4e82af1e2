import { type Message, type TextPart, textOf } from "../providers/message.ts";
import type { ModelFailure } from "../providers/provider.ts";

/** Starts the placeholder answer after a request whose pictures were refused; later turns recognise it by this text. */
export const PICTURES_REFUSED_PREFIX = "[No answer, and the pictures up to here are no longer sent: ";

const NOTE: TextPart = {
  type: "text",
  text: "[A picture was here. The provider refused the request with it.]",
};

/** Whether pictures may have caused a failure. Sending the pictures again would make every later request fail too. */
export function mayBeCausedByPictures(
  failure: ModelFailure | undefined,
  messages: readonly Message[],
): boolean {
  if (failure === undefined || !messages.some(hasPicture)) return false;
  const { kind, message } = failure;
  return kind === "refused" || kind === "too-long" || (kind === "not-found" && /image|vision/i.test(message));
}

/** Replaces each picture of an earlier refused request with a note. */
export function withoutRefusedPictures(history: readonly Message[]): Message[] {
  const last = history.findLastIndex(
    (message) => message.role === "assistant" && textOf(message).startsWith(PICTURES_REFUSED_PREFIX),
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
