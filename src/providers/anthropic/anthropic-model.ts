import { prefixHashes } from "../ai-sdk/prefix-hashes.ts";
import { createRequestWriter } from "../ai-sdk/request-writer.ts";
import { toPrompt, toSdkTools, withVendorBlocks } from "../ai-sdk/to-prompt.ts";
import type { Model } from "../provider.ts";
import { sendableJson } from "../wire/sendable.ts";
import { streamCall, type WrittenRequest } from "../wire/stream-call.ts";
import { createWireModel, type WireOptions } from "../wire/wire-model.ts";
import { type CacheTtl, withCacheMarkers } from "./cache-markers.ts";
import { longestAnswerOf, type Thinking, thinkingOf } from "./claude-model.ts";
import { createMessageReader } from "./message-answer.ts";
import { lowerLimit, USUAL_LIMIT } from "./output-limit.ts";

export interface AnthropicOptions extends WireOptions {
  readonly cacheTtl: CacheTtl;
}

/** A model behind a server that speaks the messages format of Anthropic. */
export function openAnthropicModel(options: AnthropicOptions): Model {
  const { name, baseUrl, apiKey, headers, requestOverrides, cacheTtl, http } = options;
  const model = createWireModel(options, async () => {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    // Others who speak the format need not know this field.
    const toolStreaming = new URL(baseUrl).hostname === "api.anthropic.com";
    const writeRequest = createRequestWriter((writing) =>
      createAnthropic({
        // As people write it for other clients of this format, the address has no version.
        baseURL: /\/v\d+$/.test(baseUrl) ? baseUrl : `${baseUrl}/v1`,
        // Never undefined: the SDK would take the key of the environment and send it to whatever address this is.
        apiKey: apiKey ?? "",
        // Compressing would only hold the pieces back.
        headers: { "accept-encoding": "identity", ...headers },
        fetch: writing,
      }).messages(name),
    );
    return ({ messages, tools, maxOutputTokens, reasoningEffort }, attempt) => {
      const thinking = thinkingOf(name, reasoningEffort);
      const write = async (): Promise<WrittenRequest> => {
        const written = await writeRequest({
          prompt: withCacheMarkers(
            toPrompt(messages, (id) => id.replace(/[^a-zA-Z0-9_-]/g, "_")),
            cacheTtl,
          ),
          tools: toSdkTools(tools),
          ...(maxOutputTokens === undefined
            ? {}
            : { maxOutputTokens: withoutBudget(maxOutputTokens, thinking) }),
          providerOptions: { anthropic: { toolStreaming, ...thinking } },
        });
        const { "x-api-key": key, ...others } = written.headers;
        const sent = {
          method: "POST",
          headers: key ? written.headers : others, // the SDK insists on one
          body: sendableJson(withOverrides(withVendorBlocks(written.body), requestOverrides)),
        };
        return {
          post: (onSent) => http.exchange(written.url, { ...sent, onSent }, attempt.signal),
          prefix: () => prefixHashes(sent.body),
        };
      };
      return streamCall(write, createMessageReader(), attempt);
    };
  });
  let limit = Math.min(
    USUAL_LIMIT,
    longestAnswerOf(name),
    Math.floor((options.contextTokens ?? Infinity) / 2),
  );
  return {
    ...model,
    async *stream(request, signal) {
      // The SDK asks for 4096 where it does not know the model, and the answers would be cut there.
      for (let isDone = false; !isDone; ) {
        isDone = true;
        const { maxOutputTokens = limit } = request;
        for await (const event of model.stream({ ...request, maxOutputTokens }, signal)) {
          const lower = event.type === "failed" ? lowerLimit(event.failure, maxOutputTokens) : undefined;
          if (lower === undefined || request.maxOutputTokens !== undefined) yield event;
          else {
            limit = lower;
            isDone = false;
          }
        }
      }
    },
  };
}

/** The SDK adds what may be thought to what may be answered; a large limit has room for both. */
function withoutBudget(limit: number, { thinking }: Thinking): number {
  const budget = thinking?.type === "enabled" ? thinking.budgetTokens : 0;
  return limit > 2 * budget ? limit - budget : limit;
}

function withOverrides(body: string, overrides: Readonly<Record<string, unknown>>): string {
  if (Object.keys(overrides).length === 0) return body;
  return JSON.stringify({ ...(JSON.parse(body) as object), ...overrides });
}
