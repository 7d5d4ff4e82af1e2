/** Variables of model providers: an agent that could read its own key could be talked into giving it away. */
const PROVIDER =
  /^(OPENAI|ANTHROPIC|OPENROUTER|NOUS|GOOGLE|GEMINI|GROQ|MISTRAL|DEEPSEEK|XAI|COHERE|TOGETHER|FIREWORKS|PERPLEXITY|HUGGINGFACE|HF|NOVITA|ZAI|GLM|KIMI|MOONSHOT|MINIMAX|KILOCODE|XIAOMI|ARCEE|GMI|UPSTAGE|DASHSCOPE|ALIBABA|NVIDIA|OLLAMA|QWEN|OPENCODE|AI_GATEWAY|AZURE_(OPENAI|FOUNDRY)|LMSTUDIO|STEPFUN|TENCENT|NEBIUS|COPILOT|CODEX|CLAUDE)_(.*_)?(API_?KEY|KEY|TOKEN|SECRET|BASE_URL|API_BASE|OAUTH.*)$/i;

/** Whether a variable is a model provider's, which no setting lets through to commands. */
export function isOfProvider(name: string): boolean {
  return PROVIDER.test(name);
}

/** The variables that `env_passthrough` hands to an environment that is not our own machine. */
export function passedVariables(
  names: readonly string[],
  find: (name: string) => string | undefined,
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = isOfProvider(name) ? undefined : find(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
