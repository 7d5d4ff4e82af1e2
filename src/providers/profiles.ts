import type { ModelPrice } from "./provider.ts";

/** The wire formats that are built. */
export type ApiMode = "chat_completions" | "anthropic_messages" | "scripted";

/** What is known of a provider before anybody has set anything. */
export interface ProviderProfile {
  /** Undefined where only the settings can say it. */
  readonly baseUrl: string | undefined;
  /** Variables that may hold its key, the first that is set wins. */
  readonly keyVariables: readonly string[];
  readonly needsKey: boolean;
  readonly apiMode: ApiMode;
  readonly defaultModel?: string;
  /** Whether earlier reasoning is sent again; chat completions only. */
  readonly replayReasoning?: boolean;
  readonly outputLimitField?: "max_completion_tokens";
  readonly conversationHeader?: string;
  /** Names of its models that have a colon without a slash before it; undefined where none has. */
  readonly colonNames?: RegExp;
}

function hosted(baseUrl: string, keyVariables: readonly string[], more: Partial<ProviderProfile> = {}) {
  return { baseUrl, keyVariables, needsKey: true, apiMode: "chat_completions", ...more } as const;
}

const ANY = /./;

/** Every provider that can be named in the settings; `auto` tries them in this order. */
export const PROFILES = {
  anthropic: hosted("https://api.anthropic.com/v1", ["ANTHROPIC_API_KEY"], {
    apiMode: "anthropic_messages",
    defaultModel: "claude-sonnet-4-5",
  }),
  "openai-api": hosted("https://api.openai.com/v1", ["OPENAI_API_KEY"], {
    defaultModel: "gpt-5",
    outputLimitField: "max_completion_tokens",
    colonNames: /^ft:/,
  }),
  openrouter: hosted("https://openrouter.ai/api/v1", ["OPENROUTER_API_KEY"]),
  deepseek: hosted("https://api.deepseek.com/v1", ["DEEPSEEK_API_KEY"], {
    defaultModel: "deepseek-chat",
    replayReasoning: true,
  }),
  xai: hosted("https://api.x.ai/v1", ["XAI_API_KEY"], { conversationHeader: "x-grok-conv-id" }),
  gemini: hosted("https://generativelanguage.googleapis.com/v1beta/openai", [
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
  ]),
  nvidia: hosted("https://integrate.api.nvidia.com/v1", ["NVIDIA_API_KEY"]),
  huggingface: hosted("https://router.huggingface.co/v1", ["HF_TOKEN"]),
  zai: hosted("https://api.z.ai/api/paas/v4", ["ZAI_API_KEY", "GLM_API_KEY", "Z_AI_API_KEY"], {
    replayReasoning: true,
  }),
  "kimi-coding": hosted("https://api.kimi.com/coding/v1", ["KIMI_API_KEY"], { replayReasoning: true }),
  minimax: hosted("https://api.minimax.io/anthropic/v1", ["MINIMAX_API_KEY"], {
    apiMode: "anthropic_messages",
  }),
  "minimax-cn": hosted("https://api.minimaxi.com/anthropic/v1", ["MINIMAX_CN_API_KEY"], {
    apiMode: "anthropic_messages",
  }),
  alibaba: hosted("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", ["DASHSCOPE_API_KEY"]),
  "ai-gateway": hosted("https://ai-gateway.vercel.sh/v1", ["AI_GATEWAY_API_KEY"]),
  "ollama-cloud": hosted("https://ollama.com/v1", ["OLLAMA_API_KEY"], { colonNames: ANY }),
  lmstudio: hosted("http://127.0.0.1:1234/v1", ["LM_API_KEY"], {
    needsKey: false,
    replayReasoning: true,
    colonNames: ANY,
  }),
  /** An address from the settings, with or without a key. */
  custom: {
    baseUrl: undefined,
    keyVariables: [],
    needsKey: false,
    apiMode: "chat_completions",
    replayReasoning: true,
    colonNames: ANY,
  },
  /** Answers from a file, for demonstrations and tests; the model's name is the file's path. */
  scripted: { baseUrl: undefined, keyVariables: [], needsKey: false, apiMode: "scripted", colonNames: ANY },
} as const satisfies Record<string, ProviderProfile>;

export type ProviderId = keyof typeof PROFILES;

/** Names that others give to ours. */
export const OTHER_NAMES: ReadonlyMap<string, ProviderId> = new Map([
  ["openai", "openai-api"],
  ["google", "gemini"],
]);

/** Providers that others know by these names and that we cannot reach yet. */
export const UNBUILT_PROVIDERS: readonly string[] = [
  "arcee",
  "azure-foundry",
  "bedrock",
  "copilot",
  "copilot-acp",
  "gmi",
  "google-gemini-cli",
  "kilocode",
  "kimi-coding-cn",
  "minimax-oauth",
  "nebius",
  "nous",
  "novita",
  "openai-codex",
  "opencode-free",
  "opencode-go",
  "opencode-zen",
  "qwen-oauth",
  "stepfun",
  "tencent-tokenhub",
  "tencent-tokenplan",
  "upstage",
  "xai-oauth",
  "xiaomi",
];

export function findProfile(id: string): ProviderProfile | undefined {
  return Object.hasOwn(PROFILES, id) ? PROFILES[id as ProviderId] : undefined;
}

interface KnownModel {
  readonly contextTokens: number;
  readonly price?: ModelPrice;
}

function dollars(input: number, cacheRead: number, cacheWrite: number, output: number): ModelPrice {
  return { input, cacheRead, cacheWrite, output };
}

/** Windows and list prices as their makers published them up to 2026; cache writes for five minutes. */
const KNOWN_MODELS: Readonly<Record<string, Readonly<Record<string, KnownModel>>>> = {
  anthropic: {
    "claude-opus-4-5": { contextTokens: 200_000, price: dollars(5, 0.5, 6.25, 25) },
    "claude-sonnet-4-5": { contextTokens: 200_000, price: dollars(3, 0.3, 3.75, 15) },
    "claude-haiku-4-5": { contextTokens: 200_000, price: dollars(1, 0.1, 1.25, 5) },
  },
  "openai-api": {
    "gpt-5": { contextTokens: 400_000, price: dollars(1.25, 0.125, 1.25, 10) },
    "gpt-5-mini": { contextTokens: 400_000, price: dollars(0.25, 0.025, 0.25, 2) },
    "gpt-5-nano": { contextTokens: 400_000, price: dollars(0.05, 0.005, 0.05, 0.4) },
    "gpt-4.1": { contextTokens: 1_047_576, price: dollars(2, 0.5, 2, 8) },
    "gpt-4o": { contextTokens: 128_000, price: dollars(2.5, 1.25, 2.5, 10) },
  },
  deepseek: {
    "deepseek-chat": { contextTokens: 128_000 },
    "deepseek-reasoner": { contextTokens: 128_000 },
  },
  xai: { "grok-4": { contextTokens: 256_000, price: dollars(3, 0.75, 3, 15) } },
  gemini: {
    "gemini-2.5-pro": { contextTokens: 1_048_576 },
    "gemini-2.5-flash": { contextTokens: 1_048_576 },
  },
};

/** What is known of a model of a provider; a dated name (`gpt-5-2025-08-07`) is the same model. */
export function findKnownModel(provider: string, model: string): KnownModel | undefined {
  const models = KNOWN_MODELS[provider];
  return models?.[model] ?? models?.[model.replace(/-\d{4}-?\d{2}-?\d{2}$/, "")];
}
