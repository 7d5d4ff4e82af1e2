import { AppError } from "../../../lib/errors.ts";
import type { ChatFacts } from "../state/chat-state.ts";
import type { EndedCall } from "../state/entry.ts";
import type { ChatControl } from "./chat-command.ts";

export function splitWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

export function requireFacts(chat: ChatControl): ChatFacts {
  const { facts } = chat.state();
  if (facts === undefined) throw wrongUse("The session is still being opened.", "Try again in a moment.");
  return facts;
}

/** The id of the session. Throws if the session has no message, because it is stored only with its first one. */
export function requireStored(chat: ChatControl): string {
  const { sessionId } = requireFacts(chat);
  if (!chat.isStored()) throw wrongUse("The session has no message yet.", "Send one first.");
  return sessionId;
}

export function requireCall(chat: ChatControl, text: string): EndedCall {
  const number = text === "" ? chat.state().lastCall : Number(text);
  const call = Number.isInteger(number) ? chat.call(number) : undefined;
  if (call !== undefined) return call;
  throw wrongUse(
    text === "" ? "No call has ended in this chat yet." : `There is no call ${text} in this chat.`,
    "Calls have their number in front, as in `→ 7 terminal`; /history shows earlier ones.",
  );
}

export function parseSwitch(word: string, now: boolean): boolean {
  if (word === "") return !now;
  if (word === "on" || word === "off") return word === "on";
  throw wrongUse(`"${word}" is neither on nor off.`, "Type on or off.");
}

export function wrongUse(message: string, hint: string): AppError {
  return new AppError("usage-wrong", message, { hint });
}
