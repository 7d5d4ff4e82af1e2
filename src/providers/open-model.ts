import type { HttpClient } from "../lib/http/http-client.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { CacheTtl } from "./anthropic/cache-markers.ts";
import type { Model } from "./provider.ts";
import { type ApiMode, findProviderProfile } from "./routes/profiles.ts";
import type { Route } from "./routes/resolve-route.ts";

export interface OpenModelOptions {
  readonly http: HttpClient;
  readonly clock: Clock;
  /** How long Anthropic caches the prompt. An hour costs more, but pays off if the user pauses between turns. */
  readonly cacheTtl: CacheTtl;
}

type Opener = (route: Route, options: OpenModelOptions) => Promise<Model>;

const OPENERS: { readonly [Mode in ApiMode]: Opener } = {
  async chat_completions(route, options) {
    const { openOpenaiCompatibleModel } = await import("./openai-compatible/openai-compatible-model.ts");
    const profile = findProviderProfile(route.profile);
    return openOpenaiCompatibleModel({
      ...wireOptions(route, options),
      replayReasoning: profile?.replayReasoning ?? false,
      outputLimitField: profile?.outputLimitField ?? "max_tokens",
      asksForUsage: !profile?.refusesStreamOptions,
      cacheTtl: profile?.markedModels?.test(route.model) ? options.cacheTtl : undefined,
      conversationHeader: profile?.conversationHeader,
    });
  },
  async anthropic_messages(route, options) {
    const { openAnthropicModel } = await import("./anthropic/anthropic-model.ts");
    return openAnthropicModel({ ...wireOptions(route, options), cacheTtl: options.cacheTtl });
  },
  async codex_responses(route, options) {
    const { openOpenaiResponsesModel } = await import("./openai-responses/openai-responses-model.ts");
    return openOpenaiResponsesModel(wireOptions(route, options));
  },
  async google_generate(route, options) {
    const { openGoogleModel } = await import("./google/google-model.ts");
    return openGoogleModel(wireOptions(route, options));
  },
  async ollama_chat(route, options) {
    const { openOllamaModel } = await import("./ollama/ollama-model.ts");
    return openOllamaModel({ ...wireOptions(route, options), windowTokens: route.ollamaWindow });
  },
  async scripted({ model, contextTokens }, { clock }) {
    const [{ loadScript }, { openScriptedModel }] = await Promise.all([
      import("./scripted/script.ts"),
      import("./scripted/scripted-model.ts"),
    ]);
    return openScriptedModel({ name: model, script: await loadScript(model), contextTokens, clock });
  },
};

/** Opens the model of a route without sending anything. */
export async function openModel(route: Route, options: OpenModelOptions): Promise<Model> {
  return OPENERS[route.apiMode](route, options);
}

function wireOptions(route: Route, { http, clock }: OpenModelOptions) {
  return { ...route, name: route.model, apiKey: route.key, http, clock };
}
