import type { Clock } from "../lib/clock.ts";
import type { HttpClient } from "../lib/http.ts";
import type { CacheTtl } from "./anthropic/cache-markers.ts";
import { type ApiMode, findProfile } from "./profiles.ts";
import type { Model } from "./provider.ts";
import type { Route } from "./resolve-route.ts";

export interface OpenModelOptions {
  readonly http: HttpClient;
  readonly clock: Clock;
  /** How long Anthropic keeps the prompt: an hour is dearer to write and right where people pause. */
  readonly cacheTtl: CacheTtl;
}

type Opener = (route: Route, options: OpenModelOptions) => Promise<Model>;

const OPENERS: { readonly [Mode in ApiMode]: Opener } = {
  async chat_completions(route, options) {
    const { openOpenaiCompatibleModel } = await import("./openai-compatible/openai-compatible-model.ts");
    const { replayReasoning, outputLimitField, conversationHeader } = findProfile(route.profile) ?? {};
    return openOpenaiCompatibleModel({
      ...wireOptions(route, options),
      replayReasoning: replayReasoning ?? false,
      outputLimitField: outputLimitField ?? "max_tokens",
      conversationHeader,
    });
  },
  async anthropic_messages(route, options) {
    const { openAnthropicModel } = await import("./anthropic/anthropic-model.ts");
    return openAnthropicModel({ ...wireOptions(route, options), cacheTtl: options.cacheTtl });
  },
  async scripted({ model, contextTokens }, { clock }) {
    const [{ loadScript }, { openScriptedModel }] = await Promise.all([
      import("./scripted/script.ts"),
      import("./scripted/scripted-model.ts"),
    ]);
    return openScriptedModel({ name: model, script: await loadScript(model), contextTokens, clock });
  },
};

/** Opens the model at the end of a route; nothing is sent yet. */
export async function openModel(route: Route, options: OpenModelOptions): Promise<Model> {
  return OPENERS[route.apiMode](route, options);
}

function wireOptions(route: Route, { http, clock }: OpenModelOptions) {
  const {
    provider,
    model,
    baseUrl,
    addressKey,
    key,
    keyAdvice,
    headers,
    requestOverrides,
    timeouts,
    contextTokens,
    price,
  } = route;
  return {
    provider,
    name: model,
    baseUrl,
    addressKey,
    apiKey: key,
    keyAdvice,
    headers,
    requestOverrides,
    timeouts,
    contextTokens,
    price,
    http,
    clock,
  };
}
