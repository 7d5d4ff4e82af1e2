import { cutMiddle, shorten } from "../../lib/text/shorten.ts";
import type { Message } from "../../providers/message.ts";

const CHARS = { user: 4_000, text: 2_000, input: 300, result: 400 };
/** Messages are cut at the largest multiple of `CHARS` with which all of them fit; the first multiple cuts nothing. */
const MULTIPLES = [Number.POSITIVE_INFINITY, 16, 8, 4, 2, 1];
/** The share of the text that one message may take when not all of them fit. */
const MESSAGE_SHARE = 0.25;

/**
 * The conversation as text for a summary. Results are always short; if not all messages fit, the middle of long
 * messages is cut first, and then the oldest messages are omitted.
 */
export function renderTranscript(messages: readonly Message[], maxChars: number): string {
  for (const multiple of MULTIPLES) {
    const lines = messages.map((message) => render(message, multiple));
    if (lines.reduce((sum, { length }) => sum + length + 1, 0) <= maxChars) return lines.join("\n");
  }
  return renderNewest(messages, maxChars);
}

function renderNewest(messages: readonly Message[], maxChars: number): string {
  const lines: string[] = [];
  let left = maxChars;
  for (const message of messages.toReversed()) {
    const line = cut(render(message, 1), maxChars * MESSAGE_SHARE);
    left -= line.length + 1;
    if (left < 0) {
      lines.push(`[${messages.length - lines.length} older messages are omitted here.]`);
      break;
    }
    lines.push(line);
  }
  return lines.reverse().join("\n");
}

function render(message: Message, multiple: number): string {
  if (message.role === "system") return "";
  if (message.role === "tool")
    return `result of ${message.tool}${message.failed ? " (failed)" : ""}: ${cut(message.text, CHARS.result)}`;
  return message.parts
    .flatMap((part) => {
      if (part.type === "text")
        return [
          `${message.role}: ${cut(part.text, multiple * (message.role === "user" ? CHARS.user : CHARS.text))}`,
        ];
      if (part.type === "image") return ["user: [a picture]"];
      return part.type === "tool-call" ? [`call of ${part.tool}: ${shorten(part.input, CHARS.input)}`] : [];
    })
    .join("\n");
}

function cut(text: string, maxChars: number): string {
  return cutMiddle(text, maxChars, (count) => ` [… ${count} characters omitted …] `);
}
