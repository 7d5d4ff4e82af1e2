import { createSdkFormat, type SdkFormat } from "../ai-sdk/sdk-format.ts";
import { toPrompt, toSdkTools } from "../ai-sdk/to-prompt.ts";
import type { Model } from "../provider.ts";
import { createWireModel, type WireOptions } from "../wire/wire-model.ts";
import { type CacheTtl, withCacheMarkers } from "./cache-markers.ts";
import { lowerLimit, USUAL_LIMIT } from "./output-limit.ts";

export interface AnthropicOptions extends WireOptions {
  readonly cacheTtl: CacheTtl;
}

const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const;

/** A model behind a server that speaks the messages format of Anthropic. */
export function openAnthropicModel(options: AnthropicOptions): Model {
  const model = createWireModel(options, async () => {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    const { name, baseUrl, apiKey, headers, requestOverrides, cacheTtl } = options;
    // Others who speak the format need not know this field.
    const toolStreaming = new URL(baseUrl).hostname === "api.anthropic.com";
    const format: SdkFormat = {
      dropEmptyHeaders: ["x-api-key"],
      gathersNeighbours: true,
      connect: (fetch) =>
        createAnthropic({
          // As people write it for other clients of this format, the address has no version.
          baseURL: /\/v\d+$/.test(baseUrl) ? baseUrl : `${baseUrl}/v1`,
          // Never undefined: the SDK would take the key of the environment and send it to whatever address this is.
          apiKey: apiKey ?? "",
          headers: { ...headers },
          fetch: Object.keys(requestOverrides).length === 0 ? fetch : overriding(fetch, requestOverrides),
        }).messages(name),
      callOptions: ({ messages, tools, maxOutputTokens, reasoningEffort }) => ({
        prompt: withCacheMarkers(
          toPrompt(messages, (id) => id.replace(/[^a-zA-Z0-9_-]/g, "_")),
          cacheTtl,
        ),
        tools: toSdkTools(tools),
        ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        providerOptions: { anthropic: { toolStreaming, ...thinkingOptions(reasoningEffort) } },
      }),
    };
    return createSdkFormat(format, options.fetch);
  });
  let limit = Math.min(USUAL_LIMIT, Math.floor((options.contextTokens ?? Infinity) / 2));
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

function thinkingOptions(effort: string | undefined): Record<string, string | { type: string }> {
  if (effort === undefined) return {};
  if (effort === "none") return { thinking: { type: "disabled" } };
  const known = EFFORTS.find((candidate) => candidate === effort);
  return { effort: known ?? (effort === "ultra" ? "max" : "low") };
}

function overriding(
  fetch: typeof globalThis.fetch,
  overrides: Readonly<Record<string, unknown>>,
): typeof globalThis.fetch {
  return (input, init) => {
    if (typeof init?.body !== "string") return fetch(input, init);
    const body = JSON.stringify({ ...(JSON.parse(init.body) as object), ...overrides });
    return fetch(input, { ...init, body });
  };
}
