/** Variables of model providers: an agent that can read its own key can be tricked into revealing it. */
const PROVIDER =
  /^(OPENAI|ANTHROPIC|OPENROUTER|NOUS|GOOGLE|GEMINI|GROQ|MISTRAL|DEEPSEEK|XAI|COHERE|TOGETHER|FIREWORKS|PERPLEXITY|HUGGINGFACE|HF|NOVITA|ZAI|GLM|KIMI|MOONSHOT|MINIMAX|KILOCODE|XIAOMI|ARCEE|GMI|UPSTAGE|DASHSCOPE|ALIBABA|NVIDIA|OLLAMA|QWEN|OPENCODE|AI_GATEWAY|AZURE_(OPENAI|FOUNDRY)|LMSTUDIO|STEPFUN|TENCENT|NEBIUS|COPILOT|CODEX|CLAUDE)_(.*_)?(API_?KEY|KEY|TOKEN|SECRET|BASE_URL|API_BASE|OAUTH.*)$/i;

/** Whether a variable belongs to a model provider. No setting passes such a variable to commands. */
export function isProviderVariable(name: string): boolean {
  return PROVIDER.test(name);
}

/** The variables that `env_passthrough` passes to an environment other than this machine. */
export function selectPassedVariables(
  names: readonly string[],
  find: (name: string) => string | undefined,
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = isProviderVariable(name) ? undefined : find(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
