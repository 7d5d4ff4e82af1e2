import { OPENAI_REASONING_MODELS } from "../wire/openai-efforts.ts";

/** The wire formats that settings can name. */
export const API_MODES = [
  "chat_completions",
  "anthropic_messages",
  "codex_responses",
  "google_generate",
  "ollama_chat",
] as const;

export type ApiMode = (typeof API_MODES)[number] | "scripted";

export interface ProviderProfile {
  /** Undefined if the address must come from the settings. */
  readonly baseUrl: string | undefined;
  /** Variables that may contain the key; the first one that is set is used. */
  readonly keyVariables: readonly string[];
  readonly needsKey: boolean;
  readonly apiMode: ApiMode;
  /** Matches the models that use the Responses API instead. */
  readonly responsesModels?: RegExp;
  /** The address for chat completions, if the provider has another one for them. */
  readonly chatBaseUrl?: string;
  readonly defaultModel?: string;
  /** Whether earlier reasoning is sent back; for chat completions only. */
  readonly replayReasoning?: boolean;
  readonly outputLimitField?: "max_completion_tokens";
  /** Whether the server refuses `stream_options`, because it always reports usage. */
  readonly refusesStreamOptions?: boolean;
  /** Matches the models that cache only what is marked. */
  readonly markedModels?: RegExp;
  readonly conversationHeader?: string;
  /** Matches model names that contain a colon and no slash before it; undefined if the provider has no such names. */
  readonly colonNames?: RegExp;
}

function hosted(baseUrl: string, keyVariables: readonly string[], more: Partial<ProviderProfile> = {}) {
  return { baseUrl, keyVariables, needsKey: true, apiMode: "chat_completions", ...more } as const;
}

const ANY_NAME = /./;

/** A server on this machine, at its usual port. */
function local(port: number, keyVariables: readonly string[] = []) {
  return hosted(`http://127.0.0.1:${port}/v1`, keyVariables, {
    needsKey: false,
    replayReasoning: true,
    colonNames: ANY_NAME,
  });
}

/** Every built-in provider; `auto` tries them in this order. */
export const PROVIDER_PROFILES = {
  anthropic: hosted("https://api.anthropic.com/v1", ["ANTHROPIC_API_KEY"], {
    apiMode: "anthropic_messages",
    defaultModel: "claude-sonnet-4-5",
  }),
  "openai-api": hosted("https://api.openai.com/v1", ["OPENAI_API_KEY"], {
    defaultModel: "gpt-5",
    responsesModels: OPENAI_REASONING_MODELS,
    outputLimitField: "max_completion_tokens",
    colonNames: /^ft:/,
  }),
  openrouter: hosted("https://openrouter.ai/api/v1", ["OPENROUTER_API_KEY"], { markedModels: /claude/i }),
  deepseek: hosted("https://api.deepseek.com/v1", ["DEEPSEEK_API_KEY"], {
    defaultModel: "deepseek-chat",
    replayReasoning: true,
  }),
  xai: hosted("https://api.x.ai/v1", ["XAI_API_KEY"], { conversationHeader: "x-grok-conv-id" }),
  gemini: hosted("https://generativelanguage.googleapis.com/v1beta", ["GEMINI_API_KEY", "GOOGLE_API_KEY"], {
    apiMode: "google_generate",
    chatBaseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
  }),
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
  "ollama-cloud": hosted("https://ollama.com/v1", ["OLLAMA_API_KEY"], { colonNames: ANY_NAME }),
  groq: hosted("https://api.groq.com/openai/v1", ["GROQ_API_KEY"]),
  mistral: hosted("https://api.mistral.ai/v1", ["MISTRAL_API_KEY"], { refusesStreamOptions: true }),
  together: hosted("https://api.together.xyz/v1", ["TOGETHER_API_KEY"]),
  fireworks: hosted("https://api.fireworks.ai/inference/v1", ["FIREWORKS_API_KEY"]),
  novita: hosted("https://api.novita.ai/openai/v1", ["NOVITA_API_KEY"]),
  nebius: hosted("https://api.tokenfactory.nebius.com/v1", [
    "NEBIUS_API_KEY",
    "NEBIUS_TOKEN_FACTORY_API_KEY",
  ]),
  "kimi-coding-cn": hosted("https://api.moonshot.cn/v1", ["KIMI_CN_API_KEY"], { replayReasoning: true }),
  "alibaba-cn": hosted("https://dashscope.aliyuncs.com/compatible-mode/v1", ["DASHSCOPE_API_KEY"]),
  stepfun: hosted("https://api.stepfun.com/v1", ["STEPFUN_API_KEY"]),
  xiaomi: hosted("https://api.xiaomimimo.com/v1", ["XIAOMI_API_KEY"], { replayReasoning: true }),
  "tencent-tokenhub": hosted("https://tokenhub.tencentmaas.com/v1", ["TOKENHUB_API_KEY"]),
  "tencent-tokenplan": hosted("https://api.lkeap.cloud.tencent.com/plan/anthropic", ["TOKENPLAN_API_KEY"], {
    apiMode: "anthropic_messages",
  }),
  arcee: hosted("https://api.arcee.ai/api/v1", ["ARCEEAI_API_KEY"]),
  gmi: hosted("https://api.gmi-serving.com/v1", ["GMI_API_KEY"]),
  kilocode: hosted("https://api.kilo.ai/api/gateway", ["KILOCODE_API_KEY"]),
  upstage: hosted("https://api.upstage.ai/v1", ["UPSTAGE_API_KEY"]),
  "opencode-zen": hosted("https://opencode.ai/zen/v1", ["OPENCODE_ZEN_API_KEY"]),
  router: hosted("https://api.router.com/v1", ["RAMP_ROUTER_API_KEY", "ROUTER_API_KEY"]),
  /** Each customer has an address: https://RESOURCE.openai.azure.com/openai/v1. */
  "azure-foundry": {
    baseUrl: undefined,
    keyVariables: ["AZURE_FOUNDRY_API_KEY"],
    needsKey: true,
    apiMode: "chat_completions",
    outputLimitField: "max_completion_tokens",
  },
  lmstudio: local(1234, ["LM_API_KEY"]),
  ollama: local(11434),
  vllm: local(8000),
  "llama-cpp": local(8080),
  /** A server whose address comes from the settings, with or without a key. */
  custom: {
    baseUrl: undefined,
    keyVariables: [],
    needsKey: false,
    apiMode: "chat_completions",
    replayReasoning: true,
    colonNames: ANY_NAME,
  },
  /** Answers from a file, for demonstrations and tests; the model's name is the file's path. */
  scripted: {
    baseUrl: undefined,
    keyVariables: [],
    needsKey: false,
    apiMode: "scripted",
    colonNames: ANY_NAME,
  },
} as const satisfies Record<string, ProviderProfile>;

export type ProviderId = keyof typeof PROVIDER_PROFILES;

/** Names that other programs use for our providers. */
export const PROVIDER_ALIASES: ReadonlyMap<string, ProviderId> = new Map([
  ["openai", "openai-api"],
  ["google", "gemini"],
  ["lm-studio", "lmstudio"],
  ["llamacpp", "llama-cpp"],
  ["llama.cpp", "llama-cpp"],
]);

/** Providers that other programs support and that are not supported here yet. */
export const UNSUPPORTED_PROVIDERS: readonly string[] = (
  "alibaba-coding-plan alibaba-coding-plan-cn alibaba-token-plan alibaba-token-plan-cn bedrock copilot copilot-acp " +
  "google-gemini-cli minimax-oauth nous openai-codex opencode-free opencode-go qwen-oauth xai-oauth"
).split(" ");

export function findProviderProfile(id: string): ProviderProfile | undefined {
  return Object.hasOwn(PROVIDER_PROFILES, id) ? PROVIDER_PROFILES[id as ProviderId] : undefined;
}
