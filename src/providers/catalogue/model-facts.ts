import type { ModelPrice } from "../provider.ts";

/** What is known about a model; undefined means unknown, not absent. */
export interface ModelFacts {
  readonly contextTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly price?: ModelPrice | undefined;
  readonly vision?: boolean | undefined;
  readonly reasoning?: boolean | undefined;
}

/**
 * Who states the context window, most trusted first: the setting, the server in an error, the server in its list of models,
 * the data file, or no source.
 */
export type WindowSource = "setting" | "error" | "list" | "data" | "default";

export interface FactSources {
  readonly configured: Pick<ModelFacts, "contextTokens" | "price">;
  /** The window that the server stated when it refused a conversation. */
  readonly statedTokens?: number | undefined;
  /** The model's entry in the list of its server. */
  readonly listed?: ModelFacts | undefined;
  /** The model's row in the data file. */
  readonly known?: ModelFacts | undefined;
  /** The row of the vendor's own model, if the provider passes requests on to that vendor. */
  readonly native?: ModelFacts | undefined;
}

export interface ResolvedFacts {
  readonly contextTokens: number;
  readonly contextSource: WindowSource;
  readonly price: ModelPrice | undefined;
}

/** The window of a model that no source describes: most models of 2026 have at least this one. */
const DEFAULT_WINDOW = 128_000;
/** Below this window, a conversation with tools has little room. */
const SMALL_WINDOW = 64_000;

/** The notice about a small window that the user has not set; undefined if the window is large enough. */
export function smallWindowNotice(
  model: string,
  { contextTokens, contextSource }: { contextTokens: number | undefined; contextSource: WindowSource },
  { isOllama }: { readonly isOllama: boolean },
): string | undefined {
  if (contextTokens === undefined || contextTokens >= SMALL_WINDOW || contextSource === "setting")
    return undefined;
  return `${model} has a context window of only ${contextTokens} tokens, so long results are shortened early. ${isOllama ? "To let Ollama load it with a larger one, set model.ollama_num_ctx." : "If the window is larger, set model.context_length."}`;
}

/** Chooses among the sources. An aggregator cannot raise the window that the vendor of the model states. */
export function resolveFacts({
  configured,
  statedTokens,
  listed,
  known,
  native,
}: FactSources): ResolvedFacts {
  const price = configured.price ?? listed?.price ?? known?.price;
  const vendorTokens = native?.contextTokens;
  const candidates: readonly (readonly [WindowSource, number | undefined])[] = [
    ["setting", configured.contextTokens],
    ["error", statedTokens],
    ["list", atMost(listed?.contextTokens, vendorTokens)],
    ["data", known?.contextTokens ?? vendorTokens],
  ];
  for (const [contextSource, contextTokens] of candidates)
    if (contextTokens !== undefined) return { contextTokens, contextSource, price };
  return { contextTokens: DEFAULT_WINDOW, contextSource: "default", price };
}

function atMost(tokens: number | undefined, limit: number | undefined): number | undefined {
  return tokens === undefined || limit === undefined ? tokens : Math.min(tokens, limit);
}
