import type { Clock } from "../../lib/time/clock.ts";
import type { InboxEntry } from "../inbox/inbox.ts";
import type { Outbox, OutgoingMessage } from "../outbox/outbox.ts";
import type { OutboundPart, Target } from "../platform.ts";
import {
  type GrowingAnswer,
  type GrowingAnswerParts,
  openGrowingAnswer,
  type ShownText,
  type StreamingRules,
} from "./growing-answer.ts";

export interface GrowingMessagesParts {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly rules: StreamingRules;
  split(platform: string, text: string): readonly OutboundPart["content"][];
  add(message: OutgoingMessage): Promise<void>;
}

/** Where a growing answer is shown, and the messages that it answers. */
export interface AnsweredChat {
  readonly target: Target;
  readonly answers: readonly InboxEntry[];
}

/** The rows of the outbox in which answers grow; the last one of a turn becomes its answer. */
export function createGrowingMessages({ outbox, clock, rules, split, add }: GrowingMessagesParts) {
  const nameOf = (turnId: string, segment: number): string => `live:${turnId}:${segment}`;

  function open(
    turnId: string,
    { target, answers }: AnsweredChat,
    edit: GrowingAnswerParts["edit"],
  ): GrowingAnswer {
    const messageOf = (segment: number, text: string): OutgoingMessage => ({
      source: nameOf(turnId, segment),
      target,
      contents: split(target.platform, text),
      repliesTo: segment === 0 ? answers.at(-1)?.message.id : undefined,
      inboxKey: answers[0]?.key,
    });
    return openGrowingAnswer({
      clock,
      rules,
      head(text) {
        const [first] = split(target.platform, text);
        return first?.type === "text" ? first.text : "";
      },
      post: (segment, text) => add(messageOf(segment, text)),
      find: (segment) => outbox.ofSource(nameOf(turnId, segment))[0],
      settle: (segment, text) => add({ ...messageOf(segment, text), isRevision: true }),
      edit,
    });
  }

  /** The message in which an earlier process showed the beginning of a text; of `whole`, if given. */
  function findShown(turnId: string, whole?: string): ShownText | undefined {
    for (let segment = 0, last: ShownText | undefined; ; segment++) {
      const [row] = outbox.ofSource(nameOf(turnId, segment));
      if (row === undefined)
        return whole === undefined || whole.startsWith(last?.text ?? "") ? last : undefined;
      const { content } = row.part;
      last = content.type === "text" ? { segment, text: content.text } : undefined;
    }
  }

  /** Marks the beginning of a text that nobody will continue. */
  async function breakOff(turnId: string, { target, answers }: AnsweredChat): Promise<void> {
    const shown = findShown(turnId);
    if (shown?.segment === undefined || shown.text.endsWith("[…]")) return;
    await add({
      source: nameOf(turnId, shown.segment),
      isRevision: true,
      target,
      contents: split(target.platform, `${shown.text} […]`),
      inboxKey: answers[0]?.key,
    });
  }

  return { nameOf, open, findShown, breakOff };
}
