import type { Usage } from "../provider.ts";
import type { AnswerPart, FinishPart, VendorMetadata } from "../wire/answer-part.ts";
import { findCount, findString, isJsonObject, type JsonObject, parseEvent } from "../wire/json-object.ts";
import type { AnswerReader } from "../wire/stream-call.ts";
import { TroubleError } from "../wire/trouble-error.ts";

/** The meaning of the vendor's finish reasons; all others mean `other`. */
const FINISH = new Map<string, FinishPart["reason"]>([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ...["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"].map(
    (name) => [name, "content-filter"] as const,
  ),
  // The model wrote a call that the server could not read, so the answer lacks it.
  ...["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"].map(
    (name) => [name, "error"] as const,
  ),
]);

/** Reads answers of Gemini's generateContent. Calls arrive complete, and usually without ids. */
export function createGoogleReader(): AnswerReader {
  let calls = 0;
  let usage: JsonObject | undefined;
  let reason: FinishPart["reason"] | undefined;
  /** Text and reasoning may alternate: each run of one kind is one part. */
  let run = 0;
  let kind: "text" | "reasoning" | undefined;

  function takePart(part: JsonObject): AnswerPart[] {
    const { functionCall: call } = part;
    const thoughtSignature = findString(part, "thoughtSignature");
    if (isJsonObject(call)) {
      kind = undefined;
      const ownId = findString(call, "id") || undefined;
      const id = ownId ?? `call_${calls++}`;
      const toolName = findString(call, "name") ?? "";
      return [
        { type: "tool-input-start", id, toolName, providerMetadata: google({ id: ownId, thoughtSignature }) },
        {
          type: "tool-input-delta",
          id,
          delta: JSON.stringify(isJsonObject(call["args"]) ? call["args"] : {}),
        },
      ];
    }
    const delta = findString(part, "text") ?? "";
    if (delta === "" && thoughtSignature === undefined) return [];
    // A signature may follow its text in a part of its own.
    const next = part["thought"] === true ? "reasoning" : "text";
    if (next !== kind) run++;
    kind = next;
    const type = kind === "text" ? "text-delta" : "reasoning-delta";
    return [{ type, id: String(run), delta, providerMetadata: google({ thoughtSignature }) }];
  }

  function takeChunk(chunk: JsonObject): AnswerPart[] {
    const { candidates = [], usageMetadata, promptFeedback } = chunk;
    if (isJsonObject(usageMetadata)) usage = usageMetadata;
    if (isJsonObject(promptFeedback) && promptFeedback["blockReason"] !== undefined)
      reason = "content-filter";
    if (!Array.isArray(candidates)) throw new TroubleError({ type: "malformed" });
    const [candidate] = candidates as readonly unknown[];
    if (!isJsonObject(candidate)) return [];
    const { content, finishReason } = candidate;
    if (typeof finishReason === "string") reason = FINISH.get(finishReason) ?? "other";
    const parts = isJsonObject(content) ? content["parts"] : undefined;
    return Array.isArray(parts) ? parts.filter(isJsonObject).flatMap(takePart) : [];
  }

  return {
    // The usage may follow the finish reason, and no event marks the end.
    isOver: false,
    get usage() {
      return toUsage(usage);
    },
    take(data, event) {
      if (data.trim() === "[DONE]") return [];
      const chunk = parseEvent(data);
      if (event === "error" || isJsonObject(chunk["error"]))
        throw new TroubleError({ type: "error-event", payload: chunk });
      return takeChunk(chunk);
    },
    takeWhole(body) {
      if (!Array.isArray(body["candidates"]) && !isJsonObject(body["promptFeedback"])) return undefined;
      const parts = takeChunk(body);
      reason ??= "stop";
      return parts;
    },
    finish() {
      return reason && { type: "finish", reason, usage: toUsage(usage) };
    },
  };
}

/** What Google expects back with a part. */
function google(data: { id?: string | undefined; thoughtSignature: string | undefined }): VendorMetadata {
  const known = Object.entries(data).filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : { google: Object.fromEntries(known) };
}

function toUsage(usage: JsonObject | undefined): Usage {
  const count = (name: string): number | undefined => findCount(usage?.[name]);
  const answer = count("candidatesTokenCount");
  const thoughts = count("thoughtsTokenCount");
  return {
    inputTokens: count("promptTokenCount"),
    cacheReadTokens: count("cachedContentTokenCount"),
    cacheWriteTokens: undefined,
    outputTokens: answer === undefined ? thoughts : findCount(answer + (thoughts ?? 0)),
    reasoningTokens: thoughts,
  };
}
