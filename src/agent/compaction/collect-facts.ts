import { headOf, shorten } from "../../lib/text/shorten.ts";
import { type Message, type ToolMessage, textOf, toolCallsOf } from "../../providers/message.ts";
import { summarizeInput } from "../interrupted-turn.ts";
import type { EarlierConversation } from "./summary-message.ts";

type Facts = Pick<EarlierConversation, "done" | "identifiers" | "said">;

interface FactOptions {
  /** Characters of each list. */
  readonly maxChars: number;
  /** Messages of the user that the model still gets. */
  readonly answerable: readonly Message[];
  mutates(tool: string): boolean;
}

const SAID_CHARS = 400;
const IDENTIFIER_CHARS = 120;
const SCANNED_CHARS = 20_000;
const SEPARATOR_CHARS = 3;
/** Addresses, paths, file names, UUIDs and hashes. Every repetition is bounded, so that the time stays linear. */
const IDENTIFIER =
  /https?:\/\/[^\s"'<>)\]]{1,200}|[~\w.-]{0,64}(?:\/[\w@.+-]{1,64}){1,12}|\b[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}\b|\b[0-9a-f]{7,40}\b|\b[\w-]{1,64}\.(?:[cm]?[jt]sx?|py|rs|go|md|json|ya?ml|toml|sh|sql|txt|csv)\b/g;
/** An identifier has two slashes, a file extension or a digit; anything else may be an ordinary word. */
const TELLING = /\/.*\/|\.\w{1,5}$|\d/;

/** Collects what must survive word for word, without a model: calls made, identifiers, and messages of the user. */
export function collectFacts(
  dropped: readonly Message[],
  earlier: Facts,
  { maxChars, answerable, mutates }: FactOptions,
): Facts {
  const results = new Map(dropped.flatMap((one) => (one.role === "tool" ? [[one.callId, one]] : [])));
  const done: string[] = [];
  const said: string[] = [];
  const identifiers: string[] = [];
  for (const message of dropped) {
    if (message.role === "assistant")
      for (const call of toolCallsOf(message)) {
        identifiers.push(...findIdentifiers(call.input));
        if (mutates(call.tool))
          done.push(`${call.tool} ${oneLine(summarizeInput(call))}: ${outcomeOf(results.get(call.callId))}`);
      }
    if (message.role === "user" && !answerable.includes(message))
      said.push(oneLine(shorten(textOf(message), SAID_CHARS)));
    if (message.role === "user" || message.role === "assistant")
      identifiers.push(...findIdentifiers(textOf(message)));
  }
  return {
    done: newestWithin([...earlier.done, ...done], maxChars),
    said: newestWithin([...earlier.said, ...said.filter((text) => text !== "")], maxChars),
    identifiers: newestWithin(distinct([...earlier.identifiers, ...identifiers]), maxChars / 2),
  };
}

function outcomeOf(result: ToolMessage | undefined): string {
  if (result === undefined) return "no result";
  return result.failed ? `not successful: ${oneLine(shorten(result.text, SAID_CHARS / 4))}` : "done";
}

function findIdentifiers(text: string): string[] {
  return (headOf(text, SCANNED_CHARS).match(IDENTIFIER) ?? []).filter(
    (found) => found.length <= IDENTIFIER_CHARS && TELLING.test(found),
  );
}

/** Removes duplicates; of equal items, the last one is kept. */
function distinct(items: readonly string[]): string[] {
  return [...new Set(items.toReversed())].reverse();
}

/** The newest items that fit into `maxChars`, the oldest first. */
function newestWithin(items: readonly string[], maxChars: number): string[] {
  let left = maxChars;
  const from = items.findLastIndex((item) => {
    left -= item.length + SEPARATOR_CHARS;
    return left < 0;
  });
  return items.slice(from + 1);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
