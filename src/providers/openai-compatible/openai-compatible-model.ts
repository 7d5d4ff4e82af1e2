import type { Model } from "../provider.ts";
import { splitQuery } from "../routes/address.ts";
import { withThinkTags } from "../wire/think-tags.ts";
import { createWireModel, type WireOptions } from "../wire/wire-model.ts";
import { createChatReader } from "./chat-answer.ts";
import { type ChatRules, createChatWriter } from "./chat-request.ts";

export interface OpenaiCompatibleOptions
  extends WireOptions,
    Pick<ChatRules, "replayReasoning" | "outputLimitField" | "asksForUsage" | "cacheTtl"> {
  /** The header for the conversation's id, for servers that use it as a cache key. */
  readonly conversationHeader: string | undefined;
}

/** Opens a model behind a server that uses OpenAI's chat completions format. */
export function openOpenaiCompatibleModel(options: OpenaiCompatibleOptions): Model {
  const { name, baseUrl, apiKey, conversationHeader } = options;
  const { base, search } = splitQuery(baseUrl);
  const url = new URL(`${base}/chat/completions${search}`);
  let writeBody = createChatWriter({ ...options, model: name });
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    "accept-encoding": "identity", // compression would only delay the pieces of the stream
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...options.headers,
  };
  const model = createWireModel(options, async () => (request) => {
    const { conversationId } = request;
    const isRouted = conversationHeader !== undefined && conversationId !== undefined;
    return {
      write() {
        const { body, pieceHashes } = writeBody(request);
        const routed = isRouted ? { ...headers, [conversationHeader]: conversationId } : headers;
        return { url, headers: routed, body, pieceHashes };
      },
      reader: withThinkTags(createChatReader(options)),
    };
  });
  let asksForUsage = options.asksForUsage;
  return {
    ...model,
    async *stream(request, signal) {
      for await (const event of model.stream(request, signal)) {
        const isRefused = event.type === "failed" && event.failure.kind === "refused";
        if (isRefused && asksForUsage && /stream_options/.test(event.failure.message)) {
          // Older servers refuse the field (Azure OpenAI, Databricks); without it, usage is unknown.
          asksForUsage = false;
          writeBody = createChatWriter({ ...options, model: name, asksForUsage });
          return yield* model.stream(request, signal);
        }
        yield event;
      }
    },
  };
}
