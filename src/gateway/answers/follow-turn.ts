import type { AgentEvent } from "../../agent/events.ts";
import type { OpenConversation } from "../../conversation/open-conversation.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { HostedTurn, HostedTurnResult } from "../../turns/turn-host.ts";
import type { TurnFacts } from "./answer-footer.ts";
import type { GrowingAnswer, ShownText } from "./growing-answer.ts";

export interface TurnFollower {
  readonly clock: Clock;
  /** The message that shows the text of the turn while it is written; undefined if the text is not shown before its end. */
  readonly growingAnswer: GrowingAnswer | undefined;
  onOpened(conversation: OpenConversation): Promise<void>;
  onQuestion(event: Extract<AgentEvent, { readonly type: "approval-asked" }>): Promise<void>;
  /** A call has ended. */
  onTool(tool: string, outcome: string): void;
  showTyping(): void;
}

export interface FollowedTurn {
  readonly result: HostedTurnResult;
  /** The part of the answer that was shown. */
  readonly shownText: ShownText | undefined;
  readonly facts: TurnFacts;
}

const TYPING_EVERY_MS = 4_000;

/** Follows a turn to its end: shows that it is working, posts its questions in the chat, and shows its text. */
export async function followTurn(
  turn: HostedTurn,
  { clock, growingAnswer, ...follower }: TurnFollower,
): Promise<FollowedTurn> {
  const end = new AbortController();
  const showTyping = (): void => {
    if (turn.state() === "running") follower.showTyping();
  };
  const typing = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(TYPING_EVERY_MS, end.signal);
      showTyping();
    }
  };
  typing().catch(() => undefined); // ends with the turn
  let facts: TurnFacts = { model: undefined, contextTokens: undefined, windowTokens: undefined };
  try {
    const opened = await turn.opened.catch(() => undefined); // the result of the turn contains the reason
    if (opened !== undefined) await follower.onOpened(opened);
    for await (const item of turn.watch(0, end.signal)) {
      if (!("event" in item)) continue;
      const { event } = item;
      if (event.type === "request-sent") showTyping();
      if (event.type === "approval-asked") await follower.onQuestion(event);
      if (event.type === "tool-end") follower.onTool(event.tool, event.outcome);
      if (event.type === "assistant") {
        const { usage, model } = event;
        facts = {
          model,
          contextTokens:
            usage.inputTokens === undefined ? undefined : usage.inputTokens + (usage.outputTokens ?? 0),
          windowTokens: opened?.model.contextTokens,
        };
      }
      if (growingAnswer !== undefined) await show(growingAnswer, event);
    }
    return { result: await turn.ended, shownText: await growingAnswer?.close(), facts };
  } finally {
    end.abort();
    await growingAnswer?.close();
  }
}

async function show(live: GrowingAnswer, event: AgentEvent): Promise<void> {
  if (event.type === "text-delta") live.append(event.text);
  if (event.type === "attempt-failed") live.restart();
  const hasCalls = event.type === "assistant" && event.message.parts.some(({ type }) => type === "tool-call");
  if (hasCalls || event.type === "steer") await live.endSegment();
}
