import type { AnswerPart, FinishPart, VendorNotes } from "../wire/answer-part.ts";
import { type Fields, isFields, malformed, parseEvent, textIn } from "../wire/fields.ts";
import type { AnswerReader } from "../wire/stream-call.ts";
import { TroubleError } from "../wire/trouble-error.ts";
import { createThinkTagReader, type SaidAndThought } from "./think-tags.ts";

interface OpenCall {
  readonly id: string;
  readonly key: string;
  name: string;
  hasInput: boolean;
}

/** In small letters; a word that is not here ends an answer as any other does. */
const FINISH: Readonly<Record<string, FinishPart["finishReason"]["unified"]>> = {
  stop: "stop",
  stop_sequence: "stop",
  end_turn: "stop",
  eos: "stop",
  tool_calls: "tool-calls",
  tool_use: "tool-calls",
  function_call: "tool-calls",
  length: "length",
  max_tokens: "length",
  max_output_tokens: "length",
  model_length: "window", // Mistral
  model_context_window_exceeded: "window", // Z.ai
  content_filter: "content-filter",
  refusal: "content-filter",
  safety: "content-filter", // Gemini, and the next five
  recitation: "content-filter",
  blocklist: "content-filter",
  prohibited_content: "content-filter",
  spii: "content-filter",
  image_safety: "content-filter",
  sensitive: "content-filter", // Z.ai
  error: "error", // OpenRouter
  network_error: "error", // Z.ai
  insufficient_system_resource: "error", // DeepSeek
  malformed_function_call: "error", // Gemini
  abort: "error", // vLLM and SGLang
};

/** Text and reasoning are one part each, however their pieces alternate. */
const ONE = "0";

/** A call in the older form is marked with the provider's name: only this provider gets it back in that form. */
export function createChatReader(provider: string): AnswerReader {
  const calls = new Map<number, OpenCall>();
  let lastIndex = -1;
  let reason: string | undefined;
  let refused = false;
  let isOver = false;
  let hasToolCalls = false;
  let usage: Fields | undefined;
  const readTags = createThinkTagReader();
  let hasSeparateThought = false;
  let hasTaggedThought = false;
  let hasText = false;

  /** The call that a piece belongs to; `isNew` when it begins with this piece. */
  const callOf = (piece: Fields, name: string): { readonly call: OpenCall; readonly isNew: boolean } => {
    const id = textIn(piece, "id") ?? "";
    const given = piece["index"];
    // Some servers leave the index out, and some give every whole call the same one.
    let index = typeof given === "number" ? given : name === "" ? Math.max(lastIndex, 0) : lastIndex + 1;
    const known = calls.get(index);
    const isAnother = known !== undefined && name !== "" && id !== "" && id !== known.id;
    if (known !== undefined && !isAnother) return { call: known, isNew: false };
    if (isAnother) index = Math.max(lastIndex, index) + 1;
    lastIndex = Math.max(lastIndex, index);
    const call = { id, key: id === "" ? `call_${index}` : id, name, hasInput: false };
    calls.set(index, call);
    return { call, isNew: true };
  };

  function takeCall(piece: unknown, parts: AnswerPart[], notes?: VendorNotes): void {
    if (!isFields(piece)) throw malformed();
    const made = isFields(piece["function"]) ? piece["function"] : {};
    const name = textIn(made, "name") ?? "";
    const { call, isNew } = callOf(piece, name);
    const { key: id } = call;
    if (isNew) {
      // Without a name there is no such tool, which the model is told; nothing at all is no call.
      if (name === "" && call.id === "" && !("name" in made)) throw malformed();
      const signature = signatureIn(piece["extra_content"]);
      const providerMetadata = signature === undefined ? notes : { google: { thoughtSignature: signature } };
      parts.push({ type: "tool-input-start", id, toolName: name, providerMetadata });
    } else if (name !== "" && name !== call.name && !call.hasInput) {
      // The next piece of the name, or all of it so far.
      call.name = name.startsWith(call.name) ? name : call.name + name;
      parts.push({ type: "tool-name", id, toolName: call.name });
    }
    const input = made["arguments"];
    // As an object it comes from servers that have parsed it for us.
    const delta = typeof input === "string" ? input : isFields(input) ? JSON.stringify(input) : "";
    if (delta === "") return;
    call.hasInput = true;
    parts.push({ type: "tool-input-delta", id, delta });
  }

  function takeChunk(chunk: Fields, isWhole: boolean): AnswerPart[] {
    const { choices } = chunk;
    if (isFields(chunk["usage"])) usage = chunk["usage"];
    if (choices === undefined || choices === null) return [];
    if (!Array.isArray(choices)) throw malformed();
    const choice: unknown = choices[0];
    if (choice === undefined) return [];
    if (!isFields(choice)) throw malformed();
    reason = textIn(choice, "finish_reason") || reason; // some servers send an empty one until the end
    const given = choice["delta"] ?? choice["message"];
    const delta = isFields(given) ? given : {};
    const parts: AnswerPart[] = [];
    const content = contentOf(delta);
    hasSeparateThought ||= content.thought !== "";
    const tagged = readTags(content.text, isWhole || reason !== undefined, hasSeparateThought);
    const { text, wasThought = false } = tagged;
    const thought = content.thought + tagged.thought;
    hasTaggedThought ||= wasThought || tagged.thought !== "";
    hasText = (hasText && !wasThought) || text.trim() !== "";
    if (wasThought) parts.push({ type: "text-was-reasoning", id: ONE });
    if (thought !== "") parts.push({ type: "reasoning-delta", id: ONE, delta: thought });
    // A refusal has a member of its own, and the usual reason to stop.
    const refusal = textIn(delta, "refusal") ?? "";
    if (refusal !== "") refused = true;
    if (text + refusal !== "") parts.push({ type: "text-delta", id: ONE, delta: text + refusal });
    const { tool_calls: pieces, function_call: older } = delta;
    if (Array.isArray(pieces))
      for (const piece of pieces) {
        hasToolCalls = true;
        takeCall(piece, parts);
      }
    // A server that writes both forms means one call.
    if (isFields(older) && !hasToolCalls)
      takeCall({ index: 0, function: older }, parts, { functionCall: { provider } });
    return parts;
  }

  return {
    get isOver() {
      return isOver;
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
      return takeChunk(chunk, false);
    },
    takeWhole(body) {
      if (!Array.isArray(body["choices"]) || body["choices"].length === 0) return undefined;
      const parts = takeChunk(body, true);
      reason ??= "stop";
      return parts;
    },
    finish() {
      if (reason === undefined) return undefined;
      return {
        type: "finish",
        finishReason: { unified: refused ? "content-filter" : (FINISH[reason.toLowerCase()] ?? "other") },
        // A server that knows what reasoning is may leave the answer in it; here it is the model that forgot to answer.
        isUnanswered: hasTaggedThought && !hasSeparateThought && !hasText,
        usage: toUsage(usage),
      };
    },
  };
}

/** What is said and thought; Mistral mixes both in a list of blocks. */
function contentOf(delta: Fields): SaidAndThought {
  const { content } = delta;
  let thought = textIn(delta, "reasoning_content") ?? textIn(delta, "reasoning") ?? "";
  if (!Array.isArray(content)) return { thought, text: textIn(delta, "content") ?? "" };
  let text = "";
  for (const block of content as readonly unknown[]) {
    if (!isFields(block)) continue;
    if (Array.isArray(block["thinking"])) thought += contentOf({ content: block["thinking"] }).text;
    else text += textIn(block, "text") ?? "";
  }
  return { thought, text };
}

function toUsage(usage: Fields | undefined): FinishPart["usage"] {
  const count = (fields: unknown, name: string): number | undefined => {
    const value = isFields(fields) ? fields[name] : undefined;
    return typeof value === "number" ? value : undefined;
  };
  return {
    inputTokens: {
      total: count(usage, "prompt_tokens"),
      cacheRead: count(usage?.["prompt_tokens_details"], "cached_tokens"),
      cacheWrite: undefined,
    },
    outputTokens: {
      total: count(usage, "completion_tokens"),
      reasoning: count(usage?.["completion_tokens_details"], "reasoning_tokens"),
    },
  };
}

function signatureIn(extra: unknown): string | undefined {
  const google = isFields(extra) ? extra["google"] : undefined;
  return isFields(google) ? textIn(google, "thought_signature") : undefined;
}
