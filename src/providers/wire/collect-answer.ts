import type { AssistantMessage, Message, VendorData } from "../message.ts";
import { addUsage, type FinishReason, type ModelEvent, NO_USAGE, type Usage } from "../provider.ts";
import type { AnswerPart, FinishPart } from "./answer-part.ts";
import { parseObject } from "./replayable-input.ts";

type MessageEnd = Extract<ModelEvent, { type: "message-end" }>;

interface Draft {
  readonly type: "text" | "reasoning" | "tool-call" | "vendor-block";
  tool: string;
  readonly callId: string;
  text: string;
  vendor: VendorData | undefined;
}

/** An answer as it comes in. */
export interface Answer {
  /** Whether text has been shown. */
  readonly sawText: boolean;
  /** Tools whose calls have begun. */
  readonly begunTools: readonly string[];
  /** What a part of the stream means to those who watch, if anything. */
  take(part: AnswerPart): ModelEvent | undefined;
  /**
   * The answer so far when its provider paused: sent back as it is, it is gone on with, and `take` adds to it. Undefined when
   * the answer ends here.
   */
  pause(part: FinishPart): AssistantMessage | undefined;
  /** The whole answer, or undefined when there is nothing in it. */
  finish(part: FinishPart): MessageEnd | undefined;
}

/** Puts an answer together; ids of calls that the conversation has already seen are changed. */
export function collectAnswer(history: readonly Message[]): Answer {
  const drafts: Draft[] = [];
  const open = new Map<string, Draft>();
  const newCallId = createCallIds(history);
  let wasPaused = false;
  let earlier: Usage = NO_USAGE;

  const begin = (key: string, type: Draft["type"], vendor: VendorData | undefined, tool = ""): Draft => {
    const callId = type === "tool-call" ? newCallId(key) : "";
    const draft: Draft = { type, tool, callId, text: "", vendor };
    drafts.push(draft);
    open.set(`${type} ${key}`, draft);
    return draft;
  };
  const find = (key: string, type: Draft["type"]) =>
    open.get(`${type} ${key}`) ?? begin(key, type, undefined);

  /** Whether there was any text. */
  const moveToReasoning = (key: string): boolean => {
    const said = open.get(`text ${key}`);
    if (said === undefined) return false;
    find(key, "reasoning").text += said.text;
    said.text = "";
    open.delete(`text ${key}`); // so that the answer stands behind its reasoning
    return true;
  };

  return {
    get sawText() {
      return drafts.some((draft) => draft.type === "text" && draft.text !== "");
    },
    get begunTools() {
      return drafts.filter((draft) => draft.type === "tool-call").map((draft) => draft.tool);
    },
    take(part) {
      switch (part.type) {
        case "text-start":
        case "reasoning-start":
          begin(part.id, part.type === "text-start" ? "text" : "reasoning", part.providerMetadata);
          return undefined;
        case "text-delta":
        case "reasoning-delta": {
          const draft = find(part.id, part.type === "text-delta" ? "text" : "reasoning");
          draft.text += part.delta;
          draft.vendor = mergeVendor(draft.vendor, part.providerMetadata);
          return part.delta === "" ? undefined : { type: part.type, text: part.delta };
        }
        case "text-end":
        case "reasoning-end": {
          const draft = find(part.id, part.type === "text-end" ? "text" : "reasoning");
          draft.vendor = mergeVendor(draft.vendor, part.providerMetadata);
          return undefined;
        }
        case "text-was-reasoning":
          // Who watched has seen it as text; the tag that the model wrote tells what it was.
          return moveToReasoning(part.id) ? { type: "text-delta", text: "\n</think>\n\n" } : undefined;
        case "tool-input-start": {
          const { callId } = begin(part.id, "tool-call", part.providerMetadata, part.toolName);
          return { type: "tool-call-start", callId, tool: part.toolName };
        }
        case "tool-name":
          find(part.id, "tool-call").tool = part.toolName;
          return undefined;
        case "tool-input-delta": {
          const draft = find(part.id, "tool-call");
          draft.text += part.delta;
          return part.delta === ""
            ? undefined
            : { type: "tool-input-delta", callId: draft.callId, text: part.delta };
        }
        case "vendor-block":
          begin("", "vendor-block", part.providerMetadata);
          return undefined;
        default:
          return undefined;
      }
    },
    pause({ finishReason, usage }) {
      const parts = drafts.flatMap(toPart);
      const hasCalls = parts.some((part) => part.type === "tool-call");
      if (finishReason.unified !== "pause" || hasCalls || parts.length === 0) return undefined;
      wasPaused = true;
      earlier = addUsage(earlier, toUsage(usage));
      return { role: "assistant", parts };
    },
    finish({ finishReason, usage, isUnanswered = false }) {
      const reason = finishReason.unified;
      const cutShort = reason === "length" || reason === "window";
      // When an answer was cut, a call is whole only if its text proves it: an empty one is none.
      const isWhole = ({ type, text }: Draft) =>
        type !== "tool-call" || !(cutShort || reason === "content-filter") || parseObject(text) !== undefined;
      // What was sent back once stays in the conversation; otherwise nobody here can make anything of such a block.
      const isKept = (draft: Draft) => isWhole(draft) && (wasPaused || draft.type !== "vendor-block");
      const parts = drafts.filter(isKept).flatMap(toPart);
      const isEmpty = parts.every((part) =>
        part.type === "reasoning" ? isUnanswered : part.type === "text" && part.text.trim() === "",
      );
      if (isEmpty && !cutShort && reason !== "content-filter") return undefined;
      const hasCalls = parts.some((part) => part.type === "tool-call");
      return {
        type: "message-end",
        message: { role: "assistant", parts },
        finish: toFinish(reason, hasCalls),
        usage: addUsage(earlier, toUsage(usage)),
        droppedTools: drafts.filter((draft) => !isWhole(draft)).map(({ tool }) => tool),
      };
    },
  };
}

function toPart({ type, tool, callId, text, vendor }: Draft): AssistantMessage["parts"][number][] {
  const extra = vendor === undefined ? {} : { vendor };
  if (type === "vendor-block") return [{ type: "text", text: "", ...extra }];
  if (type !== "tool-call") return text === "" && vendor === undefined ? [] : [{ type, text, ...extra }];
  return [{ type, callId, tool, input: text.trim() === "" ? "{}" : text, ...extra }];
}

/** Servers disagree about the reason beside tool calls; the calls decide. */
function toFinish(reason: FinishPart["finishReason"]["unified"], hasCalls: boolean): FinishReason {
  if (reason === "length" || reason === "window" || reason === "content-filter") return reason;
  if (hasCalls) return "tool-calls";
  return reason === "stop" || reason === "tool-calls" || reason === "pause" ? "stop" : "other";
}

function toUsage({ inputTokens, outputTokens }: FinishPart["usage"]): Usage {
  return {
    inputTokens: inputTokens.total,
    cacheReadTokens: inputTokens.cacheRead,
    cacheWriteTokens: inputTokens.cacheWrite,
    outputTokens: outputTokens.total,
    reasoningTokens: outputTokens.reasoning,
  };
}

function mergeVendor(
  known: VendorData | undefined,
  more: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined,
): VendorData | undefined {
  if (more === undefined) return known;
  const merged: Record<string, unknown> = { ...known };
  for (const [vendor, data] of Object.entries(more))
    merged[vendor] = { ...(merged[vendor] as object | undefined), ...data };
  return merged;
}

/**
 * Some servers count from `call_0` in each answer, but results are found by their call's id alone. Half a character is
 * replaced, because it does not survive being stored.
 */
function createCallIds(history: readonly Message[]): (wanted: string) => string {
  const given = new Set<string>();
  const isTaken = (id: string): boolean =>
    given.has(id) ||
    history.some(
      (message) =>
        message.role === "assistant" &&
        message.parts.some((part) => part.type === "tool-call" && part.callId === id),
    );
  return (wanted) => {
    const base = wanted.replace(/\p{Surrogate}/gu, "\uFFFD") || "call";
    let id = base;
    for (let count = 2; isTaken(id); count++) id = `${base}_${count}`;
    given.add(id);
    return id;
  };
}
