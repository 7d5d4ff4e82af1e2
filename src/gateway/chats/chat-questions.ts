import type { Answer, Approval } from "../../approvals/approval.ts";
import { numberChoices, parseClarification } from "../../approvals/clarification.ts";
import type { Choice, OutboundPart } from "../platform.ts";

const YES = /^(?:yes|y|ok|once|approved?|allow)$/i;
const SESSION = /^(?:session|yes for (?:this|the) session)$/i;
const ALWAYS = /^always$/i;
const NO = /^(?:no|n|deny|denied)(?:[\s,:]+(?<reason>.+))?$/is;

/** A question of a running turn, as people in a chat see it: with buttons where there are some, and always with words. */
export function askInChat({ id, kind, summary, reason, details }: Approval): OutboundPart["content"] {
  const text = details.whole ?? summary;
  if (kind === "clarification") {
    const numbered = numberChoices(details);
    const how = numbered.length === 0 ? "Write your answer." : "Answer with a number or in your own words.";
    const choices = (details.choices ?? []).map((label): Choice => ({ label, value: `${id} ${label}` }));
    return {
      type: "text",
      text: [text, ...numbered, how].join("\n"),
      ...(choices.length > 0 && { choices }),
    };
  }
  const words = ["yes", ...(details.session ? ["session"] : []), ...(details.always ? ["always"] : []), "no"];
  const meanings = [
    details.session && `session: ${details.session.words}`,
    details.always && `always: ${details.always.words}`,
  ].filter((line) => line !== undefined);
  return {
    type: "text",
    text: [`May I run this? ${reason}`, text, ...meanings, `Answer ${listWords(words)}.`].join("\n"),
    choices: words.map((word) => ({ label: word, value: `${id} ${word}` })),
  };
}

/** Reads a person's words as the answer to a question; undefined if they are none. */
export function readChatAnswer({ kind, details }: Approval, text: string): Omit<Answer, "by"> | undefined {
  const words = text.trim();
  if (words === "") return undefined;
  if (kind === "clarification") return { verdict: "answered", text: parseClarification(words, details) };
  if (YES.test(words)) return { verdict: "approved" };
  if (SESSION.test(words) && details.session) return { verdict: "approved", scope: "session" };
  if (ALWAYS.test(words) && details.always) return { verdict: "approved", scope: "always" };
  const no = NO.exec(words);
  return no === null ? undefined : { verdict: "denied", text: no.groups?.["reason"] };
}

/** What the value of a pressed button says: which question, and the answer. */
export function readButton(value: string): { readonly questionId: string; readonly words: string } {
  const [questionId = "", words = ""] = value.split(/ (.*)/s);
  return { questionId, words };
}

function listWords(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
