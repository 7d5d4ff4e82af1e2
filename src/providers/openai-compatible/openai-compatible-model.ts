import type { Model } from "../provider.ts";
import { streamCall, type WrittenRequest } from "../wire/stream-call.ts";
import { createWireModel, type WireOptions } from "../wire/wire-model.ts";
import { createChatReader } from "./chat-answer.ts";
import { type ChatRules, createChatWriter } from "./chat-request.ts";

export interface OpenaiCompatibleOptions
  extends WireOptions,
    Pick<ChatRules, "replayReasoning" | "outputLimitField"> {
  /** A header that carries the conversation's id, for servers that keep their cache by it. */
  readonly conversationHeader: string | undefined;
}

/** A model behind a server that speaks the chat completions of OpenAI. */
export function openOpenaiCompatibleModel(options: OpenaiCompatibleOptions): Model {
  const { name, baseUrl, apiKey, http, conversationHeader } = options;
  const url = new URL(`${baseUrl}/chat/completions`);
  const writeBody = createChatWriter({ ...options, model: name });
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    "accept-encoding": "identity", // compressing would only hold the pieces back
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...options.headers,
  };
  return createWireModel(options, async () => (request, attempt) => {
    const { conversationId } = request;
    const sentHeaders =
      conversationHeader === undefined || conversationId === undefined
        ? headers
        : { ...headers, [conversationHeader]: conversationId };
    const write = (): WrittenRequest => {
      const { bytes, prefix } = writeBody(request);
      const sent = { method: "POST", headers: sentHeaders, body: bytes };
      return {
        post: (onSent) => http.exchange(url, { ...sent, onSent }, attempt.signal),
        prefix,
      };
    };
    return streamCall(write, createChatReader(options.provider), attempt);
  });
}
