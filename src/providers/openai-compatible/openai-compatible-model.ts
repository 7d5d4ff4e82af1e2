import { createSdkModel, type WireFormat, type WireOptions } from "../ai-sdk/sdk-model.ts";
import { parseObject, toPrompt, toSdkTools } from "../ai-sdk/to-prompt.ts";
import type { Model } from "../provider.ts";

export interface OpenaiCompatibleOptions extends WireOptions {
  /** Whether earlier reasoning is sent again, as `reasoning_content`. */
  readonly replayReasoning: boolean;
  readonly outputLimitField: "max_tokens" | "max_completion_tokens";
  /** A header that carries the conversation's id, for servers that keep their cache by it. */
  readonly conversationHeader: string | undefined;
}

// The SDK gives a call's thought signature out under its provider's name, but takes it back under this one only.
const SDK_NAME = "google";

/** A model behind a server that speaks the chat completions of OpenAI. */
export function openOpenaiCompatibleModel(options: OpenaiCompatibleOptions): Model {
  return createSdkModel(options, async (): Promise<WireFormat> => {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    const { name, baseUrl, apiKey, headers, requestOverrides, outputLimitField } = options;
    return {
      dropEmptyHeaders: [],
      gathersNeighbours: false,
      connect: (fetch) =>
        createOpenAICompatible({
          name: SDK_NAME,
          baseURL: baseUrl,
          ...(apiKey === undefined ? {} : { apiKey }),
          headers: { ...headers },
          fetch,
          includeUsage: true,
          transformRequestBody: ({ max_tokens: limit, ...body }) => ({
            ...body,
            ...(limit === undefined ? {} : { [outputLimitField]: limit }),
            ...requestOverrides,
          }),
        }).chatModel(name),
      callOptions: ({ messages, tools, maxOutputTokens, reasoningEffort, conversationId }) => ({
        prompt: toPrompt(messages, {
          replayReasoning: options.replayReasoning,
          callId: (id) => id,
          // Written again from the parsed object, large numbers and the order of members would not stay.
          callOptions: ({ tool, input }) =>
            parseObject(input) === undefined
              ? {}
              : { openaiCompatible: { function: { name: tool, arguments: input } } },
        }),
        tools: toSdkTools(tools),
        ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        ...(reasoningEffort === undefined ? {} : { providerOptions: { [SDK_NAME]: { reasoningEffort } } }),
        ...(options.conversationHeader === undefined || conversationId === undefined
          ? {}
          : { headers: { [options.conversationHeader]: conversationId } }),
      }),
    };
  });
}
