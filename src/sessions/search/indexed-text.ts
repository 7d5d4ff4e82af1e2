import type { AssistantMessage, UserMessage } from "../../providers/message.ts";

export interface IndexedText {
  /** What the index of words sees. */
  readonly words: string;
  /** What the index of trigrams sees. */
  readonly spoken: string;
  readonly tags: string;
}

type StoredRole = "user" | "assistant" | "tool";

const SPOKEN_LENGTH = 100_000;
const RESULT_LENGTH = 10_000; // where a tool printed more, its start says what it was
const INPUT_LENGTH = 2_000;
const UNSPACED = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}]/gu;

/** What of a stored message can be searched. */
export function indexedText(role: StoredRole, source: string, body: string): IndexedText {
  const tags = `${tagOf("role", role)} ${tagOf("source", source)}`;
  const { spoken, done } = textsOf(role, body);
  return { words: separate(`${spoken} ${done}`), spoken: role === "tool" ? "" : spoken, tags };
}

/** What a person would call the text of a message: said aloud, or printed by a tool. */
export function textsOf(role: StoredRole, body: string): { spoken: string; done: string } {
  if (role === "tool") return { spoken: "", done: (JSON.parse(body) as string).slice(0, RESULT_LENGTH) };
  const parts = JSON.parse(body) as (UserMessage | AssistantMessage)["parts"];
  const spoken = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const done = parts
    .map((part) => (part.type === "tool-call" ? `${part.tool} ${part.input.slice(0, INPUT_LENGTH)}` : ""))
    .join(" ")
    .trim();
  return { spoken: spoken.slice(0, SPOKEN_LENGTH), done };
}

/** The word by which an index finds a kind of message; letters only, or it would be several words. */
export function tagOf(kind: "role" | "source", value: string): string {
  return `x${kind}${value.toLowerCase().replace(/[^a-z0-9]/g, "")}`;
}

/** Makes each character of a script without spaces a word, so that any part of a sentence is a phrase. */
export function separate(text: string): string {
  return text.replace(UNSPACED, " $& ");
}
