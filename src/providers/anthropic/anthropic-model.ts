import { prefixHashes } from "../ai-sdk/prefix-hashes.ts";
import { writeSdkRequest } from "../ai-sdk/request-writer.ts";
import { toPrompt, toSdkTools, withVendorBlocks } from "../ai-sdk/to-prompt.ts";
import type { Model, ModelFailure } from "../provider.ts";
import { splitQuery } from "../routes/address.ts";
import { sendableJson } from "../wire/sendable.ts";
import type { WrittenRequest } from "../wire/stream-call.ts";
import { withThinkTags } from "../wire/think-tags.ts";
import { createWireModel, type WireOptions } from "../wire/wire-model.ts";
import { type CacheTtl, withCacheMarkers } from "./cache-markers.ts";
import { outputLimitOf, type Thinking, thinkingOf } from "./claude-versions.ts";
import { createMessageReader } from "./message-answer.ts";

export interface AnthropicOptions extends WireOptions {
  readonly cacheTtl: CacheTtl;
}

/** Opens a model behind a server that uses Anthropic's messages format. */
export function openAnthropicModel(options: AnthropicOptions): Model {
  const { name, baseUrl, apiKey, requestOverrides, cacheTtl } = options;
  const model = createWireModel(options, async () => {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    const { base, search } = splitQuery(baseUrl);
    const isVendor = new URL(baseUrl).hostname === "api.anthropic.com";
    const connect = (fetch: typeof globalThis.fetch) =>
      createAnthropic({
        // Other clients of this format expect an address without a version, so add a missing one.
        baseURL: /\/v\d+$/.test(base) ? base : `${base}/v1`,
        // Never undefined, or the SDK would send a key from the environment to this address.
        apiKey: apiKey ?? "",
        // Compression would only delay the pieces of the stream.
        headers: { "accept-encoding": "identity", ...options.headers },
        fetch,
      }).messages(name);
    return ({ messages, tools, maxOutputTokens, reasoningEffort }) => {
      const thinking = thinkingOf(name, reasoningEffort);
      const write = async (): Promise<WrittenRequest> => {
        const written = await writeSdkRequest(connect, {
          prompt: withCacheMarkers(
            toPrompt(messages, (id) => id.replace(/[^a-zA-Z0-9_-]/g, "_")),
            cacheTtl,
          ),
          tools: toSdkTools(tools),
          ...(maxOutputTokens === undefined
            ? {}
            : { maxOutputTokens: withoutBudget(maxOutputTokens, thinking) }),
          // Other servers with this format may not know this field.
          providerOptions: { anthropic: { toolStreaming: isVendor, ...thinking } },
        });
        const { "x-api-key": key, ...others } = written.headers;
        const headers = key ? written.headers : others; // the SDK always adds a key header
        const body = sendableJson(withOverrides(withVendorBlocks(written.body), requestOverrides));
        return { url: new URL(search, written.url), headers, body, pieceHashes: () => prefixHashes(body) };
      };
      const reader = createMessageReader();
      return { write, reader: isVendor ? reader : withThinkTags(reader) };
    };
  });
  let limit = Math.min(
    DEFAULT_OUTPUT_LIMIT,
    outputLimitOf(name),
    Math.floor((options.contextTokens ?? Infinity) / 2),
  );
  return {
    ...model,
    async *stream(request, signal) {
      // Always pass a limit: for an unknown model the SDK would request only 4096 tokens, which truncates answers.
      for (let isDone = false; !isDone; ) {
        isDone = true;
        const { maxOutputTokens = limit } = request;
        for await (const event of model.stream({ ...request, maxOutputTokens }, signal)) {
          const lower = event.type === "failed" ? findLowerLimit(event.failure, maxOutputTokens) : undefined;
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

/** Subtracts the thinking budget, which the SDK adds to the output limit; a large limit has room for both. */
function withoutBudget(limit: number, { thinking }: Thinking): number {
  const budget = thinking?.type === "enabled" ? thinking.budgetTokens : 0;
  return limit > 2 * budget ? limit - budget : limit;
}

function withOverrides(body: string, overrides: Readonly<Record<string, unknown>>): string {
  if (Object.keys(overrides).length === 0) return body;
  return JSON.stringify({ ...(JSON.parse(body) as object), ...overrides });
}

/** The default output limit: the format requires one, and answers are rarely longer. */
const DEFAULT_OUTPUT_LIMIT = 64_000;
const LOWEST_LIMIT = 1_000;
const NAMES_LIMIT =
  /max[_ ](?:output[_ ]|completion[_ ])?tokens|maximum (?:allowed )?number of output tokens|requested \d+ output tokens/i;

/** The lower output limit for another attempt, if the server refused the limit of the request. */
function findLowerLimit({ kind, message }: ModelFailure, requested: number): number | undefined {
  if ((kind !== "refused" && kind !== "too-long") || !NAMES_LIMIT.test(message)) return undefined;
  const sum = /(?<prompt>\d+) \+ \d+ > (?<window>\d+)/;
  const words = /context length is (?<window>\d+) .*? (?<prompt>\d+) input tokens/; // vLLM
  const { prompt, window } = (sum.exec(message) ?? words.exec(message))?.groups ?? {};
  const [, most] = /> (\d+)|\[1, ?(\d+)\]/.exec(message)?.filter((part) => part !== undefined) ?? [];
  const least = kind === "refused" ? requested / 2 : 0; // without a number, the conversation itself may be too long
  const lower =
    window !== undefined ? Number(window) - Number(prompt) : most !== undefined ? Number(most) : least;
  // If the window has no room for an answer, a lower limit does not help.
  return lower >= LOWEST_LIMIT && lower < requested ? Math.floor(lower) : undefined;
}
