import { type AssistantMessage, type Message, NO_TEXT, textOf, type UserMessage } from "../message.ts";
import type { ModelRequest, ReasoningEffort, ToolDefinition } from "../provider.ts";
import { isJsonObject, replayableInput } from "../wire/json-object.ts";
import { createListBody } from "../wire/list-body.ts";
import { sendableJson, sendableName } from "../wire/sendable.ts";
import { createPieceCache, hashPiece } from "../wire/serialized-piece.ts";

export interface OllamaRules {
  readonly model: string;
  /** The context window that Ollama loads the model with; undefined means the server's own default. */
  readonly windowTokens: number | undefined;
  readonly requestOverrides: Readonly<Record<string, unknown>>;
}

export interface OllamaBody {
  readonly body: Buffer;
  /** The hashes of the prompt: first the tools, then each message. */
  pieceHashes(): readonly string[];
}

/** Writes the request bodies of a conversation. Each message is serialized once, even if it is sent many times. */
export function createOllamaWriter({
  model,
  windowTokens,
  requestOverrides,
}: OllamaRules): (request: ModelRequest) => OllamaBody {
  const serializeOnce = createPieceCache();
  const listBody = createListBody();
  // Overrides must not replace messages and stream: a body without them is invalid.
  const { messages: _, stream: __, options, ...overrides } = requestOverrides;

  return ({ messages, tools, maxOutputTokens, reasoningEffort }) => {
    const toolPiece = serializeOnce(tools, () => JSON.stringify(tools.map(toTool)));
    const pieces = messages.map((message) =>
      serializeOnce(message, () => sendableJson(JSON.stringify(toWire(message)))),
    );
    const head = JSON.stringify({
      model,
      stream: true,
      ...(reasoningEffort === undefined ? {} : { think: toThink(model, reasoningEffort) }),
      options: {
        ...(windowTokens === undefined ? {} : { num_ctx: windowTokens }),
        ...(maxOutputTokens === undefined ? {} : { num_predict: maxOutputTokens }),
        ...(isJsonObject(options) ? options : {}),
      },
      ...overrides,
    });
    const writesTools = tools.length > 0 && !("tools" in overrides);
    return {
      body: listBody(
        `${head.slice(0, -1)}${writesTools ? `,"tools":${toolPiece.json}` : ""},"messages":[`,
        pieces.map(({ json }) => json),
        "]}",
      ),
      pieceHashes: () => [toolPiece, ...pieces].map(hashPiece),
    };
  };
}

function toTool({ name, description, inputSchema }: ToolDefinition) {
  return { type: "function", function: { name, description, parameters: inputSchema } };
}

/** Only gpt-oss has levels of thinking; other models can only turn it on or off. */
function toThink(model: string, effort: ReasoningEffort): boolean | string {
  if (effort === "none") return false;
  if (!/gpt-oss/i.test(model)) return true;
  if (effort === "minimal" || effort === "low") return "low";
  return effort === "medium" ? "medium" : "high";
}

function toWire(message: Message): object {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text };
    case "user":
      return toUser(message);
    case "assistant":
      return toAssistant(message);
    case "tool":
      return { role: "tool", tool_name: sendableName(message.tool), content: message.text };
  }
}

function toUser({ parts }: UserMessage) {
  const images = parts.flatMap((part) => (part.type === "image" ? [part.data] : []));
  return {
    role: "user",
    content: textOf({ role: "user", parts }),
    ...(images.length > 0 ? { images } : {}),
  };
}

function toAssistant({ parts }: AssistantMessage) {
  const join = (type: "text" | "reasoning"): string =>
    parts.map((part) => (part.type === type ? part.text : "")).join("");
  const calls = parts.flatMap((part) =>
    part.type === "tool-call"
      ? [{ function: { name: sendableName(part.tool), arguments: replayableInput(part.input) } }]
      : [],
  );
  const content = join("text");
  const thinking = join("reasoning");
  return {
    role: "assistant",
    content: content.trim() === "" && calls.length === 0 ? NO_TEXT : content,
    ...(thinking === "" ? {} : { thinking }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}
