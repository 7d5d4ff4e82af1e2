import {
  type AssistantMessage,
  type Message,
  NO_TEXT,
  type UserMessage,
  type VendorData,
} from "../message.ts";
import type { ModelRequest, ToolDefinition } from "../provider.ts";
import { isJsonObject, replayableInput } from "../wire/json-object.ts";
import { createListBody } from "../wire/list-body.ts";
import { sendableJson, sendableName } from "../wire/sendable.ts";
import { createPieceCache, hashPiece, type SerializedPiece } from "../wire/serialized-piece.ts";
import { needsSignatures, thinkingConfigOf } from "./gemini-thinking.ts";
import { toGoogleSchema } from "./google-schema.ts";

export interface GoogleRules {
  readonly model: string;
  readonly requestOverrides: Readonly<Record<string, unknown>>;
}

interface CallRules {
  /** The ids that Google gave to calls. Google finds the result of a call without an id by its position. */
  readonly ids: Map<string, string>;
  readonly needsSignatures: boolean;
}

export interface GoogleBody {
  readonly body: Buffer;
  /** The hashes of the prompt: first the tools, then each message. */
  pieceHashes(): readonly string[];
}

/** Writes the request bodies of a conversation. Each message is serialized once, even if it is sent many times. */
export function createGoogleWriter({
  model,
  requestOverrides,
}: GoogleRules): (request: ModelRequest) => GoogleBody {
  const serializeOnce = createPieceCache();
  const listBody = createListBody();
  const calls: CallRules = { ids: new Map(), needsSignatures: needsSignatures(model) };
  // Overrides must not replace contents: a body without them is invalid.
  const { contents: _, generationConfig, ...overrides } = requestOverrides;

  return ({ messages, tools, maxOutputTokens, reasoningEffort }) => {
    const toolPiece = serializeOnce(tools, () => JSON.stringify(tools.map(toDeclaration)));
    const pieces = messages.map((message) =>
      serializeOnce(message, () => sendableJson(toParts(message, calls).map(toJson).join(","))),
    );
    const thinkingConfig = thinkingConfigOf(model, reasoningEffort);
    const head = JSON.stringify({
      generationConfig: {
        ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        ...(thinkingConfig === undefined ? {} : { thinkingConfig }),
        ...(isJsonObject(generationConfig) ? generationConfig : {}),
      },
      ...overrides,
    });
    const writesTools = tools.length > 0 && !("tools" in overrides);
    const { system, contents } = group(messages, pieces);
    return {
      body: listBody(
        `${head.slice(0, -1)}${writesTools ? `,"tools":[{"functionDeclarations":${toolPiece.json}}]` : ""}${system === undefined ? "" : `,"systemInstruction":{"parts":[${system}]}`},"contents":[`,
        contents,
        "]}",
      ),
      pieceHashes: () => [toolPiece, ...pieces].map(hashPiece),
    };
  };
}

function toJson(part: object): string {
  return JSON.stringify(part);
}

/** Separates the system prompt, and joins the results of one answer: Google requires them in one content. */
function group(messages: readonly Message[], pieces: readonly SerializedPiece[]) {
  let system: string | undefined;
  const contents: string[] = [];
  let results: string[] = [];
  for (const [index, { role }] of messages.entries()) {
    const json = pieces[index]?.json ?? "";
    if (role === "tool") results.push(json);
    if (role === "tool" && messages[index + 1]?.role === "tool") continue;
    if (role === "system") system = json;
    else
      contents.push(
        `{"role":"${role === "assistant" ? "model" : "user"}","parts":[${results.join(",") || json}]}`,
      );
    results = [];
  }
  return { system, contents };
}

function toDeclaration({ name, description, inputSchema }: ToolDefinition) {
  return { name, description, parameters: toGoogleSchema(inputSchema) };
}

function toParts(message: Message, calls: CallRules): object[] {
  switch (message.role) {
    case "system":
      return [{ text: message.text }];
    case "user":
      return toUserParts(message);
    case "assistant":
      return toModelParts(message, calls);
    case "tool": {
      const { callId, tool, text, failed } = message;
      const id = calls.ids.get(callId);
      const response = failed ? { error: text } : { output: text };
      return [
        { functionResponse: { ...(id === undefined ? {} : { id }), name: sendableName(tool), response } },
      ];
    }
  }
}

function toUserParts({ parts }: UserMessage): object[] {
  return parts.map((part) =>
    part.type === "text"
      ? { text: part.text }
      : { inlineData: { mimeType: part.mediaType, data: part.data } },
  );
}

/** Replaces the missing signature of a call that another model made. */
const FOREIGN_SIGNATURE = "skip_thought_signature_validator";

function toModelParts({ parts }: AssistantMessage, calls: CallRules): object[] {
  const written: object[] = [];
  let hasCall = false;
  for (const part of parts) {
    const { id, thoughtSignature } = googleData(part.vendor);
    const signature = thoughtSignature === undefined ? {} : { thoughtSignature };
    if (part.type === "tool-call") {
      if (id !== undefined) calls.ids.set(part.callId, id);
      const args = replayableInput(part.input);
      const functionCall = { ...(id === undefined ? {} : { id }), name: sendableName(part.tool), args };
      // Of several calls in one answer, only the first has a signature.
      const foreign = hasCall || !calls.needsSignatures ? {} : { thoughtSignature: FOREIGN_SIGNATURE };
      written.push({ functionCall, ...foreign, ...signature });
      hasCall = true;
    } else if (part.type === "text" && (part.text.trim() !== "" || thoughtSignature !== undefined)) {
      written.push({ text: part.text, ...signature });
    } else if (part.type === "reasoning" && thoughtSignature !== undefined) {
      written.push({ text: part.text, thought: true, thoughtSignature });
    }
  }
  return written.length > 0 ? written : [{ text: NO_TEXT }];
}

function googleData(vendor: VendorData | undefined): {
  readonly id?: string;
  readonly thoughtSignature?: string;
} {
  const data = vendor?.["google"];
  return isJsonObject(data) ? data : {};
}
