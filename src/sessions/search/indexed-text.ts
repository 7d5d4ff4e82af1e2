import { parseParts, parseResult } from "../rows/message-body.ts";

export interface IndexedText {
  readonly words: string;
  readonly spoken: string;
  readonly tags: string;
}

type StoredRole = "user" | "assistant" | "tool";

const SPOKEN_LENGTH = 1_000_000; // long, because a compaction may cut messages, and the model must be able to find the rest
const RESULT_LENGTH = 10_000; // the start of longer output is enough to identify it
const INPUT_LENGTH = 2_000;
const UNSPACED = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}]/gu;

/** The searchable text of a stored message. */
export function createIndexedText(role: StoredRole, source: string, body: string): IndexedText {
  const tags = `${createTag("role", role)} ${createTag("source", source)}`;
  const { spoken, done } = extractTexts(role, body);
  return { words: separateCharacters(`${spoken} ${done}`), spoken: role === "tool" ? "" : spoken, tags };
}

/** The text parts of a message (`spoken`), and its tool calls or tool result (`done`). */
export function extractTexts(role: StoredRole, body: string): { spoken: string; done: string } {
  if (role === "tool") return { spoken: "", done: (parseResult(body) ?? "").slice(0, RESULT_LENGTH) };
  const parts = parseParts(body) ?? [];
  const spoken = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const done = parts
    .map((part) => (part.type === "tool-call" ? `${part.tool} ${part.input.slice(0, INPUT_LENGTH)}` : ""))
    .join(" ")
    .trim();
  return { spoken: spoken.slice(0, SPOKEN_LENGTH), done };
}

/** The index term for a role or source; letters and digits only, so that the tokenizer does not split it. */
export function createTag(kind: "role" | "source", value: string): string {
  return `x${kind}${value.toLowerCase().replace(/[^a-z0-9]/g, "")}`;
}

/** Puts spaces around each character of scripts without spaces, so that any part of a sentence matches as a phrase. */
export function separateCharacters(text: string): string {
  return text.replace(UNSPACED, " $& ");
}
