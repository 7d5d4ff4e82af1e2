import { expect, test } from "vitest";
import { parseModelList } from "./parse-list.ts";

test.each([
  ["OpenAI", { data: [{ id: "gpt-5", object: "model" }] }, { name: "gpt-5" }],
  [
    "OpenRouter",
    {
      data: [
        {
          id: "anthropic/claude-sonnet-4.5",
          context_length: 1_000_000,
          top_provider: { max_completion_tokens: 64_000 },
          pricing: { prompt: "0.000003", completion: "0.000015", input_cache_read: "0.0000003" },
          architecture: { input_modalities: ["text", "image"] },
          supported_parameters: ["tools", "reasoning"],
        },
      ],
    },
    {
      name: "anthropic/claude-sonnet-4.5",
      contextTokens: 1_000_000,
      maxOutputTokens: 64_000,
      price: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3 },
      vision: true,
      reasoning: true,
    },
  ],
  [
    "Anthropic",
    { data: [{ type: "model", id: "claude-opus-5", max_input_tokens: 1_000_000, max_tokens: 128_000 }] },
    { name: "claude-opus-5", contextTokens: 1_000_000, maxOutputTokens: 128_000 },
  ],
  [
    "Google",
    { models: [{ name: "models/gemini-2.5-pro", inputTokenLimit: 1_048_576, outputTokenLimit: 65_536 }] },
    { name: "gemini-2.5-pro", contextTokens: 1_048_576, maxOutputTokens: 65_536 },
  ],
  ["vLLM", { data: [{ id: "q", max_model_len: 32_768 }] }, { name: "q", contextTokens: 32_768 }],
  [
    "llama.cpp",
    { data: [{ id: "q", meta: { n_ctx: 4_096, n_ctx_train: 131_072 } }] },
    { contextTokens: 4_096 },
  ],
  [
    "LM Studio",
    { data: [{ id: "q", max_context_length: 9_000, loaded_context_length: 4_000 }] },
    { contextTokens: 4_000 },
  ],
  ["Together", [{ id: "q", pricing: { input: 0.2, output: 0.2 } }], { name: "q", price: undefined }],
])("B2: the list of %s", (_, body, expected) => {
  expect(parseModelList(body)?.[0]).toMatchObject(expected);
});

test.each([[undefined], [null], ["text"], [7], [{}], [{ data: {} }], [{ error: { message: "no" } }]])(
  "B2: %j is not a list of models",
  (body) => {
    expect(parseModelList(body)).toBeUndefined();
  },
);

test("B2: entries that cannot be used are skipped", () => {
  const data = [
    null,
    "text",
    [],
    { id: 7 },
    { id: "" },
    { id: "two words" },
    { id: "red\u001b[31m" },
    { id: "x".repeat(300) },
    { id: "bidi\u202e" },
    { name: "models/embedding-1", supportedGenerationMethods: ["embedContent"] },
    { id: "ok", context_length: -1, max_tokens: "many", pricing: { prompt: "-1", completion: "-1" } },
    { id: "ok2", context_length: 1.5, architecture: null, pricing: "free" },
  ];
  const unknown = { contextTokens: undefined, maxOutputTokens: undefined, price: undefined };
  expect(parseModelList({ data })).toMatchObject([
    { name: "ok", ...unknown },
    { name: "ok2", ...unknown },
  ]);
});
