import type { Usage } from "../provider.ts";
import type { AnswerPart, FinishPart, VendorMetadata } from "../wire/answer-part.ts";
import {
  findCount,
  findString,
  isJsonObject,
  type JsonObject,
  parseEvent,
  parseObject,
} from "../wire/json-object.ts";
import type { AnswerReader } from "../wire/stream-call.ts";
import { TroubleError } from "../wire/trouble-error.ts";
import { createDetailCollector, type ReasoningSource } from "./reasoning-details.ts";

interface OpenCall {
  readonly id: string;
  readonly key: string;
  name: string;
  /** The part of its input that has arrived. */
  input: string;
}

/** The meaning of the vendors' finish reasons, lower-cased; all others mean `other`. */
const FINISH = new Map<string, FinishPart["reason"]>(
  Object.entries({
    stop: "stop stop_sequence end_turn eos",
    "tool-calls": "tool_calls tool_use function_call",
    length: "length max_tokens max_output_tokens",
    window: "model_length model_context_window_exceeded", // Mistral, Z.ai
    // The last seven are from Gemini and Z.ai.
    "content-filter":
      "content_filter refusal safety recitation blocklist prohibited_content spii image_safety sensitive",
    // OpenRouter, Z.ai, DeepSeek, Gemini, vLLM and SGLang
    error: "error network_error insufficient_system_resource malformed_function_call abort",
  } satisfies Partial<Record<FinishPart["reason"], string>>).flatMap(([reason, names]) =>
    names.split(" ").map((name) => [name, reason as FinishPart["reason"]] as const),
  ),
);

/** Text and reasoning are one part each, even if their pieces alternate. */
const ONLY_PART = "0";

/**
 * Reads chat completions. Calls in the older form and details of the reasoning are marked with their provider, because only that
 * provider may get them back in that form.
 */
export function createChatReader(source: ReasoningSource): AnswerReader {
  const details = createDetailCollector(source);
  let hasThought = false;
  const calls = new Map<number, OpenCall>();
  let lastIndex = -1;
  /** The choice that is read: a server may send several, but only one is the answer. */
  let choiceIndex: number | undefined;
  let reason: string | undefined;
  let refused = false;
  let isOver = false;
  let hasToolCalls = false;
  let usage: JsonObject | undefined;

  /** The call that a piece belongs to; `isNew` if this is its first piece. */
  const callOf = (piece: JsonObject, name: string): { readonly call: OpenCall; readonly isNew: boolean } => {
    const id = findString(piece, "id") ?? "";
    const given = piece["index"];
    // Some servers omit the index, and some give every complete call the same index.
    let index = typeof given === "number" ? given : name === "" ? Math.max(lastIndex, 0) : lastIndex + 1;
    const known = calls.get(index);
    const isAnother =
      known !== undefined && name !== "" && (id === "" ? isNext(known, piece) : id !== known.id);
    if (known !== undefined && !isAnother) return { call: known, isNew: false };
    if (isAnother) index = Math.max(lastIndex, index) + 1;
    lastIndex = Math.max(lastIndex, index);
    const call = { id, key: id === "" ? `call_${index}` : id, name, input: "" };
    calls.set(index, call);
    return { call, isNew: true };
  };

  function takeCall(piece: unknown, parts: AnswerPart[], notes?: VendorMetadata): void {
    if (!isJsonObject(piece)) throw new TroubleError({ type: "malformed" });
    const made = isJsonObject(piece["function"]) ? piece["function"] : {};
    const name = findString(made, "name") ?? "";
    const { call, isNew } = callOf(piece, name);
    const { key: id } = call;
    if (isNew) {
      // A call without a name fails as an unknown tool; a piece without id and name is not a call.
      if (name === "" && call.id === "" && !("name" in made)) throw new TroubleError({ type: "malformed" });
      const signature = signatureIn(piece["extra_content"]);
      const providerMetadata = signature === undefined ? notes : { google: { thoughtSignature: signature } };
      parts.push({ type: "tool-input-start", id, toolName: name, providerMetadata });
    } else if (name !== "" && name !== call.name && call.input === "") {
      // The piece has either the next part of the name or the whole name so far.
      call.name = name.startsWith(call.name) ? name : call.name + name;
      parts.push({ type: "tool-name", id, toolName: call.name });
    }
    const delta = inputIn(made);
    if (delta === "") return;
    call.input += delta;
    parts.push({ type: "tool-input-delta", id, delta });
  }

  function takeChunk(chunk: JsonObject): AnswerPart[] {
    const { choices } = chunk;
    if (isJsonObject(chunk["usage"])) usage = chunk["usage"];
    if (choices === undefined || choices === null) return [];
    if (!Array.isArray(choices)) throw new TroubleError({ type: "malformed" });
    const isOurs = (one: unknown): boolean =>
      !isJsonObject(one) || findIndex(one) === (choiceIndex ?? findIndex(one));
    const choice: unknown = choices.find(isOurs);
    if (choice === undefined) return [];
    if (!isJsonObject(choice)) throw new TroubleError({ type: "malformed" });
    choiceIndex ??= findIndex(choice);
    reason = findString(choice, "finish_reason") || reason; // some servers send an empty reason until the end
    const given = choice["delta"] ?? choice["message"];
    const delta = isJsonObject(given) ? given : {};
    const parts: AnswerPart[] = [];
    const { thought, text } = contentOf(delta);
    const providerMetadata = details.take(delta["reasoning_details"]);
    hasThought ||= thought !== "";
    if (thought !== "" || providerMetadata !== undefined)
      parts.push({ type: "reasoning-delta", id: ONLY_PART, delta: thought, providerMetadata });
    // A refusal is in a separate field and has the usual finish reason.
    const refusal = findString(delta, "refusal") ?? "";
    if (refusal !== "") refused = true;
    if (text + refusal !== "") parts.push({ type: "text-delta", id: ONLY_PART, delta: text + refusal });
    const { tool_calls: pieces, function_call: older } = delta;
    if (Array.isArray(pieces))
      for (const piece of pieces) {
        hasToolCalls = true;
        takeCall(piece, parts);
      }
    // A server that sends both forms means one call.
    if (isJsonObject(older) && !hasToolCalls)
      takeCall({ index: 0, function: older }, parts, { functionCall: { provider: source.provider } });
    return parts;
  }

  return {
    get isOver() {
      return isOver;
    },
    get usage() {
      return toUsage(usage);
    },
    take(data, event) {
      if (data.trim() === "[DONE]") {
        isOver = true;
        return [];
      }
      const chunk = parseEvent(data);
      const isError = event === "error" || chunk["object"] === "error" || chunk["type"] === "error";
      if (isError || (chunk["error"] !== undefined && chunk["error"] !== null))
        throw new TroubleError({ type: "error-event", payload: chunk });
      return takeChunk(chunk);
    },
    takeWhole(body) {
      if (!Array.isArray(body["choices"]) || body["choices"].length === 0) return undefined;
      const parts = takeChunk(body);
      reason ??= "stop";
      return parts;
    },
    finish() {
      if (reason === undefined) return undefined;
      return {
        type: "finish",
        reason: refused ? "content-filter" : (FINISH.get(reason.toLowerCase()) ?? "other"),
        usage: toUsage(usage),
        reasoningIsNoAnswer: !hasThought, // reasoning without readable text does not count as an answer
      };
    },
  };
}

function findIndex({ index }: JsonObject): number {
  return typeof index === "number" ? index : 0;
}

/** Whether a piece without an id starts the next call: the known call is complete, and the piece is the start of an input. */
function isNext(known: OpenCall, piece: JsonObject): boolean {
  const made = isJsonObject(piece["function"]) ? piece["function"] : {};
  return inputIn(made).trimStart().startsWith("{") && parseObject(known.input) !== undefined;
}

/** The input in a piece of a call. Some servers send it as a parsed object. */
function inputIn({ arguments: input }: JsonObject): string {
  return typeof input === "string" ? input : isJsonObject(input) ? JSON.stringify(input) : "";
}

/** Separates text and reasoning; Mistral mixes both in a list of blocks. */
function contentOf(delta: JsonObject): { readonly thought: string; readonly text: string } {
  const { content } = delta;
  let thought = findString(delta, "reasoning_content") ?? findString(delta, "reasoning") ?? "";
  if (!Array.isArray(content)) return { thought, text: findString(delta, "content") ?? "" };
  let text = "";
  for (const block of content as readonly unknown[]) {
    if (!isJsonObject(block)) continue;
    if (Array.isArray(block["thinking"])) thought += contentOf({ content: block["thinking"] }).text;
    else text += findString(block, "text") ?? "";
  }
  return { thought, text };
}

function toUsage(usage: JsonObject | undefined): Usage {
  const count = (fields: unknown, name: string): number | undefined =>
    findCount(isJsonObject(fields) ? fields[name] : undefined);
  return {
    inputTokens: count(usage, "prompt_tokens"),
    cacheReadTokens: count(usage?.["prompt_tokens_details"], "cached_tokens"),
    cacheWriteTokens: undefined,
    outputTokens: count(usage, "completion_tokens"),
    reasoningTokens: count(usage?.["completion_tokens_details"], "reasoning_tokens"),
  };
}

function signatureIn(extra: unknown): string | undefined {
  const google = isJsonObject(extra) ? extra["google"] : undefined;
  return isJsonObject(google) ? findString(google, "thought_signature") : undefined;
}
