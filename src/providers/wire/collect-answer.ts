import type { AssistantMessage, Message, VendorData } from "../message.ts";
import { addUsage, type FinishReason, type ModelEvent, NO_USAGE, type Usage } from "../provider.ts";
import type { AnswerPart, FinishPart, VendorMetadata } from "./answer-part.ts";
import { parseObject } from "./json-object.ts";

type MessageEnd = Extract<ModelEvent, { type: "message-end" }>;

interface Draft {
  readonly type: "text" | "reasoning" | "tool-call" | "vendor-block";
  tool: string;
  readonly callId: string;
  text: string;
  vendor: VendorData | undefined;
}

export type AnswerCollector = ReturnType<typeof collectAnswer>;

/** Assembles an answer, and replaces call ids that the conversation already contains. */
export function collectAnswer(history: readonly Message[]) {
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

  /** Some servers write the inputs of several calls into one call: `{…}{…}`. */
  const splitCall = (part: AssistantMessage["parts"][number]): AssistantMessage["parts"][number][] => {
    const inputs = part.type === "tool-call" ? splitObjects(part.input) : [];
    if (part.type !== "tool-call" || inputs.length < 2) return [part];
    const { type, callId, tool } = part;
    return inputs.map((input, index) =>
      index === 0 ? { ...part, input } : { type, callId: newCallId(callId), tool, input },
    );
  };

  /** Turns text into reasoning; returns false if there is no text. */
  const moveToReasoning = (key: string): boolean => {
    const draft = open.get(`text ${key}`);
    if (draft === undefined) return false;
    find(key, "reasoning").text += draft.text;
    draft.text = "";
    open.delete(`text ${key}`); // so that the answer follows its reasoning
    return true;
  };

  return {
    get sawText(): boolean {
      return drafts.some((draft) => draft.type === "text" && draft.text !== "");
    },
    /** The tokens of the requests that gave no complete answer. */
    get usage(): Usage {
      return earlier;
    },
    addUsage(usage: Usage): void {
      earlier = addUsage(earlier, usage);
    },
    /** Tools whose calls have started to arrive. */
    get startedTools(): readonly string[] {
      return drafts.filter((draft) => draft.type === "tool-call").map((draft) => draft.tool);
    },
    /** Adds a part of the stream, and returns the event for consumers that it causes, if any. */
    take(part: AnswerPart): ModelEvent | undefined {
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
        case "text-was-reasoning":
          // Consumers have already received the text; the model's closing tag marks it as reasoning.
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
    /**
     * The partial message if the provider paused its answer; undefined otherwise. It is sent back unchanged, the provider
     * continues it, and `take` adds the rest.
     */
    pause({ reason, usage }: FinishPart): AssistantMessage | undefined {
      const parts = drafts.flatMap(toPart);
      const hasCalls = parts.some((part) => part.type === "tool-call");
      if (reason !== "pause" || hasCalls || parts.length === 0) return undefined;
      wasPaused = true;
      earlier = addUsage(earlier, usage);
      return { role: "assistant", parts };
    },
    /** The complete answer, or undefined if it is empty. */
    finish({ reason, usage, reasoningIsNoAnswer = false }: FinishPart): MessageEnd | undefined {
      const cutShort = reason === "length" || reason === "window";
      // In a cut answer, a call is complete only if its input is a JSON object; an empty input is not.
      const isComplete = ({ type, text }: Draft) =>
        type !== "tool-call" || !(cutShort || reason === "content-filter") || parseObject(text) !== undefined;
      // A vendor block is kept only if it was sent back after a pause.
      const isKept = (draft: Draft) => isComplete(draft) && (wasPaused || draft.type !== "vendor-block");
      const parts = drafts.filter(isKept).flatMap(toPart).flatMap(splitCall);
      const isEmpty = parts.every((part) =>
        part.type === "reasoning" ? reasoningIsNoAnswer : part.type === "text" && part.text.trim() === "",
      );
      if (isEmpty && !cutShort && reason !== "content-filter") return undefined;
      const hasCalls = parts.some((part) => part.type === "tool-call");
      return {
        type: "message-end",
        message: { role: "assistant", parts },
        finish: toFinish(reason, hasCalls),
        usage: addUsage(earlier, usage),
        droppedTools: drafts.filter((draft) => !isComplete(draft)).map(({ tool }) => tool),
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

/** The texts of JSON objects that follow each other; empty if the text is anything else. */
function splitObjects(text: string): string[] {
  const objects: string[] = [];
  let start = 0;
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\[\s\S])*"|[{}]/g)) {
    if (token === "{") depth++;
    else if (token === "}") depth--;
    if (token !== "}" || depth !== 0) continue;
    objects.push(text.slice(start, index + 1).trim());
    start = index + 1;
  }
  const isAll = text.slice(start).trim() === "" && objects.every((one) => parseObject(one) !== undefined);
  return isAll ? objects : [];
}

/**
 * Servers report different finish reasons with tool calls, so the presence of calls decides. `tool-calls` without a call
 * means that the server lost it.
 */
function toFinish(reason: FinishPart["reason"], hasCalls: boolean): FinishReason {
  if (reason === "length" || reason === "window" || reason === "content-filter") return reason;
  if (hasCalls) return "tool-calls";
  if (reason === "tool-calls") return reason;
  return reason === "stop" || reason === "pause" ? "stop" : "other";
}

function mergeVendor(known: VendorData | undefined, more: VendorMetadata): VendorData | undefined {
  if (more === undefined) return known;
  const merged: Record<string, unknown> = { ...known };
  for (const [vendor, data] of Object.entries(more))
    merged[vendor] = { ...(merged[vendor] as object | undefined), ...data };
  return merged;
}

/**
 * Makes call ids unique: some servers count from `call_0` in each answer, but results are found by their call's id
 * alone. Lone surrogates are replaced, because they cannot be stored.
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
