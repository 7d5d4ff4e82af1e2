import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { AppError } from "../lib/errors.ts";
import type { RouteRequest } from "./choose-provider.ts";
import { modelOptions, providersOption } from "./options.ts";
import { PROFILES } from "./profiles.ts";
import { resolveRoute } from "./resolve-route.ts";

interface Given {
  readonly model?: z.input<typeof modelOptions>;
  readonly providers?: z.input<typeof providersOption>;
  readonly env?: Readonly<Record<string, string>>;
}

function resolve({ model = {}, providers = {}, env = {} }: Given, request: RouteRequest = {}) {
  const settings = { model: modelOptions.parse(model), providers: providersOption.parse(providers) };
  return resolveRoute(settings, request, (name) => env[name]);
}

function refusal(given: Given, request: RouteRequest = {}): { code: string; text: string } {
  try {
    resolve(given, request);
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, text: `${error.message} ${error.hint}` };
    throw error;
  }
  throw new Error("it was not refused");
}

const LAB = { lab: { base_url: "http://10.0.0.5:8000/v1", key_env: "LAB_KEY", model: "lab-1" } };
const ALL_KEYS = {
  ANTHROPIC_API_KEY: "ant",
  OPENAI_API_KEY: "oai",
  OPENROUTER_API_KEY: "or",
  LAB_KEY: "lab",
};

describe("who is asked", () => {
  it("names the setting that decides the address, which is not model.base_url for another provider", () => {
    const model = { base_url: "http://127.0.0.1:11434/v1", default: "qwen3:8b" };
    expect(resolve({ model }).addressKey).toBe("model.base_url");
    const other = resolve({ model, env: ALL_KEYS }, { provider: "openai-api" });
    expect(other.addressKey).toBe("providers.openai-api.base_url");
    expect(resolve({ providers: LAB, env: ALL_KEYS }, { provider: "lab" }).addressKey).toBe(
      "providers.lab.base_url",
    );
  });

  it("the route of a session is found again by its names, also when auto had chosen it by the address", () => {
    const model = { base_url: "http://127.0.0.1:11434/v1", default: "qwen3:8b" };
    const first = resolve({ model, env: ALL_KEYS });
    const again = resolve({ model, env: ALL_KEYS }, { provider: first.provider, model: first.model });
    expect(again).toEqual(first);
    const hosted = resolve({ env: ALL_KEYS });
    expect(resolve({ env: ALL_KEYS }, { provider: hosted.provider, model: hosted.model })).toEqual(hosted);
  });

  it("auto takes the first provider of the table that has a key", () => {
    const route = resolve({ env: { DEEPSEEK_API_KEY: "d", OPENAI_API_KEY: "o" } });
    expect(route).toMatchObject({
      provider: "openai-api",
      model: "gpt-5",
      baseUrl: "https://api.openai.com/v1",
      key: "o",
      keySource: "OPENAI_API_KEY",
      apiMode: "chat_completions",
      contextTokens: 400_000,
    });
    expect(resolve({ env: { DEEPSEEK_API_KEY: "d" } })).toMatchObject({ provider: "deepseek", key: "d" });
  });

  it("auto without any key says what to set", () => {
    expect(refusal({})).toMatchObject({
      code: "provider-key-missing",
      text: expect.stringContaining("ANTHROPIC_API_KEY"),
    });
  });

  it("a second variable counts when the first is not set, and an empty one is not set", () => {
    expect(
      resolve({
        model: { provider: "gemini", default: "g" },
        env: { GEMINI_API_KEY: "", GOOGLE_API_KEY: "k" },
      }),
    ).toMatchObject({
      key: "k",
      keySource: "GOOGLE_API_KEY",
    });
  });

  it.each([
    ["claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"],
    ["openrouter:qwen/qwen3:free", "openrouter", "qwen/qwen3:free"],
    ["lab:some-model", "lab", "some-model"],
    ["custom:lab:qwen3:8b", "lab", "qwen3:8b"],
    ["custom:lab", "lab", "lab-1"],
    ["fast", "lab", "tiny"],
    ["anthropic:claude-haiku-4-5", "anthropic", "claude-haiku-4-5"],
  ])("the name %s means %s with %s", (name, provider, model) => {
    const given = {
      model: { provider: "anthropic", default: "claude-opus-4-5", aliases: { fast: "lab:tiny" } },
      providers: LAB,
      env: ALL_KEYS,
    };
    expect(resolve(given, { model: name })).toMatchObject({ provider, model });
  });

  it.each([
    ["a server of one's own", "qwen3:8b", { base_url: "http://127.0.0.1:11434/v1" }, "custom"],
    ["a server of one's own", "ollama:llama3", { base_url: "http://127.0.0.1:11434/v1" }, "custom"],
    ["a named server", "qwen3:8b", { provider: "lab" }, "lab"],
    ["Ollama's", "gpt-oss:120b", { provider: "ollama-cloud" }, "ollama-cloud"],
    ["OpenRouter", "qwen/qwen3:free", { provider: "openrouter" }, "openrouter"],
    ["OpenAI, a model of one's own", "ft:gpt-4o:org::id", { provider: "openai-api" }, "openai-api"],
  ])("%s is asked for %s, which is the whole name of a model there", (_, name, model, provider) => {
    const given = { model, providers: LAB, env: { ...ALL_KEYS, OLLAMA_API_KEY: "o" } };
    expect(resolve(given, { model: name })).toMatchObject({ provider, model: name });
    expect(resolve({ ...given, model: { ...model, default: name } })).toMatchObject({ model: name });
  });

  it("a provider may be called as others call it, unless a server of the settings has that name", () => {
    const env = { ...ALL_KEYS, GEMINI_API_KEY: "g" };
    const wanted = { provider: "openai-api", model: "gpt-4o", key: "oai" };
    expect(resolve({ env }, { model: "openai:gpt-4o" })).toMatchObject(wanted);
    expect(resolve({ env }, { provider: "openai", model: "gpt-4o" })).toMatchObject(wanted);
    expect(resolve({ model: { provider: "openai", default: "gpt-4o" }, env })).toMatchObject(wanted);
    expect(resolve({ env }, { model: "google:g-2" })).toMatchObject({ provider: "gemini", model: "g-2" });
    const providers = { openai: { base_url: "http://10.0.0.5/v1" } };
    expect(resolve({ providers, env }, { model: "openai:m" })).toMatchObject({
      provider: "openai",
      baseUrl: "http://10.0.0.5/v1",
    });
  });

  it("a name that a server of one's own and a vendor may have is asked back, and one of the settings stays there", () => {
    const model = { base_url: "http://10.0.0.5/v1", default: "openai:gpt-4o" };
    expect(resolve({ model, env: ALL_KEYS })).toMatchObject({ provider: "custom", model: "openai:gpt-4o" });
    const { code, text } = refusal({ model, env: ALL_KEYS }, { model: "openai:gpt-5" });
    expect(code).toBe("provider-unknown");
    expect(text).toContain("Write openai-api:gpt-5, or `--provider custom -m openai:gpt-5`.");
  });

  it.each([
    ["antropic:claude", "Did you mean anthropic?"],
    ["custom:lap:qwen", "lab"],
    ["openai-codex:gpt-5", "cannot be used yet"],
    ["ollama:llama3", "Use one of anthropic, openai-api, openrouter,"],
    ["llama3.1:8b", "`--provider NAME -m llama3.1:8b`"],
    ["qwen3:8b", "such as Ollama, is set by model.base_url"],
  ])("M6: %s is an error, never a request to somebody else", (name, meant) => {
    const given = { model: { provider: "anthropic" }, providers: LAB, env: ALL_KEYS };
    const { code, text } = refusal(given, { model: name });
    expect(code).toBe("provider-unknown");
    expect(text).toContain(meant);
    expect(refusal({ providers: LAB, env: ALL_KEYS }, { model: name }).code).toBe("provider-unknown");
    expect(refusal({ providers: LAB, env: ALL_KEYS, model: { default: name } }).code).toBe(
      "provider-unknown",
    );
  });

  it("an unknown provider in the settings is an error with the nearest name", () => {
    const { code, text } = refusal({ model: { provider: "openruter", default: "x" }, env: ALL_KEYS });
    expect(code).toBe("provider-unknown");
    expect(text).toContain("Did you mean openrouter?");
  });

  it("M6: another provider does not inherit the model of the settings", () => {
    const given = {
      model: { provider: "anthropic", default: "claude-opus-4-5" },
      providers: LAB,
      env: ALL_KEYS,
    };
    expect(resolve(given, { provider: "lab" })).toMatchObject({ provider: "lab", model: "lab-1" });
    expect(resolve(given, { provider: "anthropic" })).toMatchObject({ model: "claude-opus-4-5" });
    expect(refusal(given, { provider: "openrouter" })).toMatchObject({ code: "model-unnamed" });
  });

  it("a script is a route of its own", () => {
    expect(resolve({}, { provider: "scripted", model: "./demo.yaml" })).toMatchObject({
      provider: "scripted",
      apiMode: "scripted",
      model: "./demo.yaml",
      key: undefined,
    });
    expect(resolve({}, { model: "scripted:./demo.yaml" })).toMatchObject({
      provider: "scripted",
      model: "./demo.yaml",
    });
  });
});

describe("keys", () => {
  it("M6: a provider's key does not go to another host", () => {
    const route = resolve({
      model: { provider: "anthropic", default: "m", base_url: "https://proxy.example/v1" },
      env: ALL_KEYS,
    });
    expect(route).toMatchObject({
      baseUrl: "https://proxy.example/v1",
      key: undefined,
      apiMode: "anthropic_messages",
    });
  });

  it.each(Object.keys(PROFILES))("M6: with every key set, %s gets its own or none", (provider) => {
    const env: Record<string, string> = {};
    for (const { keyVariables } of Object.values(PROFILES))
      for (const name of keyVariables) env[name] = `key of ${name}`;
    const route = resolve({
      model: { provider, default: "m", base_url: "https://elsewhere.example/v1" },
      env,
    });
    expect(route.key).toBe(provider === "custom" ? "key of OPENAI_API_KEY" : undefined);
    if (provider === "custom" || provider === "scripted") return;
    const [own] = PROFILES[provider as keyof typeof PROFILES].keyVariables;
    expect(resolve({ model: { provider, default: "m" }, env }).key).toBe(`key of ${own}`);
  });

  it("an unnamed endpoint may have OPENAI_API_KEY, a named one only its own", () => {
    const unnamed = { model: { base_url: "http://127.0.0.1:8080/v1", default: "m" }, env: ALL_KEYS };
    expect(resolve(unnamed)).toMatchObject({ provider: "custom", key: "oai" });
    const { lab } = LAB;
    expect(resolve({ providers: { lab }, env: ALL_KEYS }, { model: "lab:m" })).toMatchObject({ key: "lab" });
    const keyless = { lab: { base_url: lab.base_url } };
    expect(resolve({ providers: keyless, env: ALL_KEYS }, { model: "lab:m" })).toMatchObject({
      key: undefined,
    });
  });

  it("the address that is set for a provider gets its key", () => {
    const providers = { anthropic: { base_url: "http://gateway:8080" } };
    const route = resolve({ providers, env: ALL_KEYS }, { model: "anthropic:m" });
    expect(route).toMatchObject({ baseUrl: "http://gateway:8080", key: "ant", keyAdvice: undefined });
  });

  it.each([
    ["http://127.0.0.1:8080/v1", "oai"],
    ["http://localhost:8080/v1", "oai"],
    ["http://[::1]:8080/v1", "oai"],
    ["https://gw.example/v1", "oai"],
    ["http://gw.example/v1", undefined],
    ["http://192.168.1.7:8000/v1", undefined],
    ["http://localhost.example/v1", undefined],
  ])(
    "OPENAI_API_KEY for a server without a name is not sent where it can be read: %s gets %s",
    (base_url, key) => {
      const route = resolve({ model: { base_url, default: "m" }, env: ALL_KEYS });
      expect(route.key).toBe(key);
      if (key === undefined)
        expect(route.keyAdvice).toBe(
          "OPENAI_API_KEY was not sent, because this address is not encrypted. Store the key for this address with `hermes config set model.api_key`.",
        );
      const own = resolve({ model: { base_url, default: "m", api_key: "mine" }, env: ALL_KEYS });
      expect(own).toMatchObject({ key: "mine", keyAdvice: undefined });
    },
  );

  it("why there is no key is known, and how to set one", () => {
    const adviceOf = (given: Given, request?: RouteRequest) => resolve(given, request).keyAdvice;
    const base_url = "https://gw.example/v1";
    expect(adviceOf({ model: { base_url, default: "m" } })).toBe(
      "Store the key for this address with `hermes config set model.api_key`.",
    );
    expect(adviceOf({ model: { base_url, default: "m", provider: "anthropic" }, env: ALL_KEYS })).toBe(
      "ANTHROPIC_API_KEY was not sent, because it is for api.anthropic.com and for providers.anthropic.base_url only. Store the key for this address with `hermes config set model.api_key`.",
    );
    const named = { providers: { lab: { base_url } } };
    expect(adviceOf(named, { model: "lab:m" })).toContain("`hermes config set providers.lab.key_env NAME`");
    expect(adviceOf({ providers: LAB }, { model: "lab:m" })).toBe(
      "Put LAB_KEY into the environment or into .env of the profile.",
    );
    expect(adviceOf({ providers: { anthropic: { base_url } } }, { model: "anthropic:m" })).toContain(
      "`hermes config set ANTHROPIC_API_KEY`",
    );
  });

  it("the key of the settings belongs to the address of the settings", () => {
    const model = { base_url: "https://gw.example/v1", api_key: "mine", default: "m" };
    expect(resolve({ model, env: ALL_KEYS })).toMatchObject({ key: "mine", keySource: "model.api_key" });
    expect(resolve({ model, providers: LAB, env: ALL_KEYS }, { model: "openrouter:x" })).toMatchObject({
      baseUrl: "https://openrouter.ai/api/v1",
      key: "or",
    });
    expect(resolve({ model, providers: LAB, env: {} }, { model: "lab:x" })).toMatchObject({ key: undefined });
  });

  it("a named provider may bring its own variable for a built-in one", () => {
    const providers = { anthropic: { key_env: "WORK_KEY" } };
    const given = { model: { provider: "anthropic" }, providers, env: { ...ALL_KEYS, WORK_KEY: "w" } };
    expect(resolve(given)).toMatchObject({ key: "w", keySource: "WORK_KEY" });
    expect(refusal({ ...given, env: ALL_KEYS }).text).toContain("WORK_KEY");
  });

  it("a missing key is named by its variable", () => {
    const { code, text } = refusal({ model: { provider: "zai", default: "m" } });
    expect(code).toBe("provider-key-missing");
    expect(text).toContain("ZAI_API_KEY");
  });

  it("an address that is missing is named by its setting", () => {
    expect(refusal({ model: { provider: "custom", default: "m" } }).text).toContain("model.base_url");
    expect(refusal({ providers: { lab: {} } }, { model: "lab:m" }).text).toContain("providers.lab.base_url");
  });
});

describe("how it is asked", () => {
  it.each([
    ["http://localhost:11434/v1", "chat_completions", 900_000, 1_800_000],
    ["http://192.168.1.7:8000/v1", "chat_completions", 900_000, 1_800_000],
    ["http://[::1]:8000/v1", "chat_completions", 900_000, 1_800_000],
    ["http://[fd12::7]:8000/v1", "chat_completions", 900_000, 1_800_000],
    ["http://box:8000/v1", "chat_completions", 900_000, 1_800_000],
    ["https://gw.example/v1", "chat_completions", 180_000, 1_800_000],
    ["https://172.32.0.1/v1", "chat_completions", 180_000, 1_800_000],
    ["https://gw.example/anthropic", "anthropic_messages", 180_000, 900_000],
    ["https://api.anthropic.com/v1", "anthropic_messages", 180_000, 900_000],
  ])("A6, A10: %s speaks %s", (base_url, apiMode, staleMs, requestMs) => {
    expect(resolve({ model: { base_url, default: "m" } })).toMatchObject({
      apiMode,
      timeouts: { staleMs, requestMs },
    });
  });

  it("A10: a wire format that is set wins over what the address looks like", () => {
    const providers = {
      lab: { base_url: "https://x.example/anthropic", api_mode: "chat_completions" as const },
    };
    expect(resolve({ providers }, { model: "lab:m" })).toMatchObject({ apiMode: "chat_completions" });
    const model = { base_url: "https://x.example/v1", api_mode: "anthropic_messages" as const, default: "m" };
    expect(resolve({ model })).toMatchObject({ apiMode: "anthropic_messages" });
    expect(refusal({ model: { ...model, api_mode: "codex_responses" } }).text).toContain("not built yet");
  });

  it("A6: time-outs and windows come from the model, then the provider, then what is known", () => {
    const providers = {
      lab: {
        base_url: "https://x.example/v1/",
        stale_timeout_seconds: 20,
        request_timeout_seconds: 30,
        headers: { "x-team": "a" },
        models: { slow: { stale_timeout_seconds: 60, timeout_seconds: 90, context_length: 9000 } },
      },
    };
    expect(resolve({ providers }, { model: "lab:quick" })).toMatchObject({
      baseUrl: "https://x.example/v1",
      headers: { "x-team": "a" },
      timeouts: { staleMs: 20_000, requestMs: 30_000 },
      contextTokens: undefined,
    });
    expect(resolve({ providers }, { model: "lab:slow" })).toMatchObject({
      timeouts: { staleMs: 60_000, requestMs: 90_000 },
      contextTokens: 9000,
    });
  });

  it("a price that is set counts, and what it does not say of the cache costs as much as input", () => {
    const priceOf = (price: unknown) => {
      const lab = { base_url: "https://x.example/v1", models: { m: { price } } };
      return resolve({ providers: { lab } }, { model: "lab:m" }).price;
    };
    expect(priceOf({ input: 2, output: 8 })).toEqual({ input: 2, output: 8, cacheRead: 2, cacheWrite: 2 });
    expect(priceOf({ input: 2, output: 8, cache_read: 0.2, cache_write: 3 })).toMatchObject({
      cacheRead: 0.2,
      cacheWrite: 3,
    });
    expect(priceOf({ input: 2 })).toBeUndefined();
  });

  it("the window of the settings is for the model of the settings", () => {
    const given = { model: { provider: "anthropic", context_length: 50_000 }, env: ALL_KEYS };
    expect(resolve(given)).toMatchObject({ contextTokens: 50_000 });
    expect(resolve(given, { model: "openai-api:gpt-4.1" })).toMatchObject({ contextTokens: 1_047_576 });
  });
});
