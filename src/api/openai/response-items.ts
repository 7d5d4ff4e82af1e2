import type { AgentEvent } from "../../agent/events.ts";
import { textOf, toolCallsOf } from "../../providers/message.ts";

/** An item of the output of a response. Tools run on the server, so each call is followed by its result. */
export type OutputItem =
  | {
      readonly id: string;
      readonly type: "message";
      readonly role: "assistant";
      readonly status: "completed";
      readonly content: readonly {
        readonly type: "output_text";
        readonly text: string;
        readonly annotations: readonly [];
      }[];
    }
  | {
      readonly id: string;
      readonly type: "function_call";
      readonly call_id: string;
      readonly name: string;
      readonly arguments: string;
      readonly status: "completed";
    }
  | {
      readonly id: string;
      readonly type: "function_call_output";
      readonly call_id: string;
      readonly output: string;
      readonly status: "completed" | "incomplete";
    };

export function messageItem(id: string, text: string): OutputItem {
  const content = [{ type: "output_text", text, annotations: [] }] as const;
  return { id, type: "message", role: "assistant", status: "completed", content };
}

/** Collects the output items of a turn; an event adds those that it completes. */
export function createItemCollector(responseId: string) {
  const items: OutputItem[] = [];
  const nextId = (prefix: string): string => `${prefix}_${responseId.replace(/^\w+?_/, "")}_${items.length}`;
  const add = (item: OutputItem): OutputItem => {
    items.push(item);
    return item;
  };
  return {
    items: items as readonly OutputItem[],
    /** The id that the next message gets. */
    nextMessageId: () => nextId("msg"),
    add(event: AgentEvent): readonly OutputItem[] {
      if (event.type === "assistant") {
        const text = textOf(event.message);
        const message = text.trim() === "" ? [] : [add(messageItem(nextId("msg"), text))];
        const calls = toolCallsOf(event.message).map(({ callId, tool, input }) =>
          add({
            ...{ id: nextId("fc"), type: "function_call", call_id: callId, name: tool },
            ...{ arguments: input, status: "completed" },
          }),
        );
        return [...message, ...calls];
      }
      if (event.type !== "tool-end") return [];
      const { callId, text, outcome } = event;
      const status = outcome === "ok" || outcome === "failed" ? "completed" : "incomplete";
      return [
        add({ id: nextId("fco"), type: "function_call_output", call_id: callId, output: text, status }),
      ];
    },
    /** Adds the text of the turn's end if no message has it, such as reasoning that is shown because there is no text. */
    complete(text: string): readonly OutputItem[] {
      const hasText = items.some(({ type }) => type === "message");
      return hasText || text === "" ? [] : [add(messageItem(nextId("msg"), text))];
    },
  };
}
