import type { AgentEvent } from "../../agent/events.ts";
import { type ToolCallPart, textOf, toolCallsOf } from "../../providers/message.ts";
import { addUsage, NO_USAGE, type Usage } from "../../providers/provider.ts";
import { clientCallId } from "./client-tools.ts";

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

export interface ItemCollectorOptions {
  /** The calls of an event that the client has to run. */
  clientCalls(event: AgentEvent): readonly ToolCallPart[];
  /**
   * Whether the client runs functions of its own. Calls of the server's tools are then omitted, because the client could not
   * tell them from its own.
   */
  readonly hasFunctions: boolean;
}

/**
 * Collects the output items of a turn; an event adds those that it completes. When the client has to run a function, the response
 * ends, and what follows belongs to the next response of the same turn.
 */
export function createItemCollector(runId: string, { clientCalls, hasFunctions }: ItemCollectorOptions) {
  let items: OutputItem[] = [];
  let usage = NO_USAGE;
  let part = 1;
  let isPaused = false;
  const nextId = (prefix: string): string => `${prefix}_${runId.replace("run_", "")}_${part}_${items.length}`;
  const add = (item: OutputItem): OutputItem => {
    items.push(item);
    return item;
  };
  const callItem = (callId: string, { tool, input }: ToolCallPart): OutputItem =>
    add({
      ...{ id: nextId("fc"), type: "function_call", call_id: callId, name: tool },
      ...{ arguments: input, status: "completed" },
    });

  function addCompleted(event: AgentEvent): readonly OutputItem[] {
    switch (event.type) {
      case "assistant": {
        usage = addUsage(usage, event.usage);
        const text = textOf(event.message);
        const message = text.trim() === "" ? [] : [add(messageItem(nextId("msg"), text))];
        const calls = hasFunctions
          ? []
          : toolCallsOf(event.message).map((call) => callItem(call.callId, call));
        return [...message, ...calls];
      }
      case "tools-start": {
        const calls = clientCalls(event);
        isPaused = calls.length > 0;
        return calls.map((call) => callItem(clientCallId(runId, call.callId), call));
      }
      case "tool-end": {
        if (hasFunctions) return [];
        const { callId, text, outcome } = event;
        const status = outcome === "ok" || outcome === "failed" ? "completed" : "incomplete";
        return [
          add({ id: nextId("fco"), type: "function_call_output", call_id: callId, output: text, status }),
        ];
      }
      default:
        return [];
    }
  }

  return {
    items: (): readonly OutputItem[] => items,
    usage: (): Usage => usage,
    /** Which response of the turn is being collected, counted from 1. */
    part: (): number => part,
    /** Whether the client must run functions before the turn continues; the response has then ended. */
    isPaused: (): boolean => isPaused,
    /** The id that the next message gets. */
    nextMessageId: () => nextId("msg"),
    add(event: AgentEvent): readonly OutputItem[] {
      if (isPaused) {
        part++;
        items = [];
        usage = NO_USAGE;
        isPaused = false;
      }
      return addCompleted(event);
    },
    /** Adds the turn's final text if the response has no message, for instance reasoning that is shown because there is no text. */
    complete(text: string): readonly OutputItem[] {
      const hasMessage = items.some(({ type }) => type === "message");
      return hasMessage || text === "" ? [] : [add(messageItem(nextId("msg"), text))];
    },
  };
}

export type ItemCollector = ReturnType<typeof createItemCollector>;
