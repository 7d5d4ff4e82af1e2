import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { storedSettings } from "../../../test/support/route-settings.ts";
import { AppError } from "../../lib/errors.ts";
import type { modelOptions, providersOption } from "../options.ts";
import type { RouteRequest } from "./choose-provider.ts";
import { findProviderProfile, PROVIDER_PROFILES, type ProviderProfile } from "./profiles.ts";
import { resolveRoute } from "./resolve-route.ts";

interface Given {
  /** `model.base_url` of a flag or a variable. */
  readonly runAddress?: string;
  readonly model?: z.input<typeof modelOptions>;
  readonly providers?: z.input<typeof providersOption>;
  readonly env?: Readonly<Record<string, string>>;
}

function resolve(
  { runAddress = "", model = {}, providers = {}, env = {} }: Given,
  request: RouteRequest = {},
) {
  const stored = storedSettings(model, providers);
  const settings = {
    ...stored,
    model: { ...stored.model, base_url: runAddress || stored.model.base_url },
    modelAddress: { ...stored.modelAddress, ofRun: runAddress },
  };
  return resolveRoute(settings, request, (name) => env[name]);
}

function refusal(given: Given, request: RouteRequest = {}): { code: string; text: string } {
  try {
    resolve(given, request);
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, text: `${error.message} ${error.hint}` };
    throw error;
  }
  throw new Error("the route was not refused");
}

const LAB = { lab: { base_url: "http://10.0.0.5:8000/v1", key_env: "LAB_KEY", model: "lab-1" } };
const ALL_KEYS = {
  ANTHROPIC_API_KEY: "ant",
  OPENAI_API_KEY: "oai",
  OPENROUTER_API_KEY: "or",
  LAB_KEY: "lab",
};

describe("the provider", () => {
  it("a route names the setting of its address; for a provider that is not the configured one, that is not model.base_url", () => {
    const model = { base_url: "http://127.0.0.1:11434/v1", default: "qwen3:8b" };
    expect(resolve({ model }).addressKey).toBe("model.base_url");
    const other = resolve({ model, env: ALL_KEYS }, { provider: "openai-api" });
    expect(other.addressKey).toBe("providers.openai-api.base_url");
    expect(resolve({ providers: LAB, env: ALL_KEYS }, { provider: "lab" }).addressKey).toBe(
      "providers.lab.base_url",
    );
  });

  it.each([
    ["--provider anthropic", { provider: "anthropic", model: "m" }, "anthropic", "anthropic_messages"],
    ["-m anthropic:m", { model: "anthropic:m" }, "anthropic", "anthropic_messages"],
    ["--provider openai-api", { provider: "openai-api" }, "openai-api", "chat_completions"],
    ["-m deepseek:m", { model: "deepseek:m" }, "deepseek", "chat_completions"],
    ["-m lab:m", { model: "lab:m" }, "lab", "chat_completions"],
    ["model.default alone", {}, "anthropic", "anthropic_messages"],
  ])(
    "M6: with %s a request goes to the address of this run, without a vendor's key",
    (_, request, provider, apiMode) => {
      const runAddress = "https://gw.example/v1";
      const env = { ...ALL_KEYS, DEEPSEEK_API_KEY: "ds" };
      for (const model of [{}, { base_url: "https://other.example/v1", api_key: "of other" }]) {
        const given = { runAddress, model: { ...model, default: "anthropic:m" }, providers: LAB, env };
        const route = resolve(given, request);
        expect(route).toMatchObject({ provider, apiMode, baseUrl: runAddress, key: undefined, headers: {} });
        expect(route.addressKey).toBe("model.base_url");
        expect(route.keyHint).toContain("HERMES_MODEL_API_KEY");
      }
    },
  );

  it("M6: the key that was given with the address of this run is sent there, whichever provider is named", () => {
    const address = "https://gw.example/v1";
    const stored = storedSettings({ api_key: "mine" }, LAB);
    const settings = {
      ...stored,
      model: { ...stored.model, base_url: address },
      modelAddress: { stored: "", ofKey: address, ofRun: address },
    };
    for (const model of ["anthropic:m", "openai-api:m", "lab:m", "custom:m"])
      expect(resolveRoute(settings, { model }, (name) => ALL_KEYS[name as "LAB_KEY"])).toMatchObject({
        baseUrl: address,
        key: "mine",
        keySource: "model.api_key",
      });
  });

  it("a session's provider and model resolve to the same route again, even if auto chose it by the address", () => {
    const model = { base_url: "http://127.0.0.1:11434/v1", default: "qwen3:8b" };
    const first = resolve({ model, env: ALL_KEYS });
    const again = resolve({ model, env: ALL_KEYS }, { provider: first.provider, model: first.model });
    expect(again).toEqual(first);
    const hosted = resolve({ env: ALL_KEYS });
    expect(resolve({ env: ALL_KEYS }, { provider: hosted.provider, model: hosted.model })).toEqual(hosted);
  });

  it("auto chooses the first provider of the table that has a key", () => {
    const route = resolve({ env: { DEEPSEEK_API_KEY: "d", OPENAI_API_KEY: "o" } });
    expect(route).toMatchObject({
      provider: "openai-api",
      model: "gpt-5",
      baseUrl: "https://api.openai.com/v1",
      key: "o",
      keySource: "OPENAI_API_KEY",
      apiMode: "codex_responses",
      contextTokens: 400_000,
    });
    expect(resolve({ env: { DEEPSEEK_API_KEY: "d" } })).toMatchObject({ provider: "deepseek", key: "d" });
  });

  it("auto without any key is an error that names a variable to set", () => {
    expect(refusal({})).toMatchObject({
      code: "provider-key-missing",
      text: expect.stringContaining("ANTHROPIC_API_KEY"),
    });
  });

  it("a second variable is used if the first is unset or empty", () => {
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
    ["a custom server", "qwen3:8b", { base_url: "http://127.0.0.1:11434/v1" }, "custom"],
    ["a custom server", "mine:llama3", { base_url: "http://127.0.0.1:11434/v1" }, "custom"],
    ["a named server", "qwen3:8b", { provider: "lab" }, "lab"],
    ["Ollama's", "gpt-oss:120b", { provider: "ollama-cloud" }, "ollama-cloud"],
    ["OpenRouter", "qwen/qwen3:free", { provider: "openrouter" }, "openrouter"],
    ["OpenAI, a fine-tuned model", "ft:gpt-4o:org::id", { provider: "openai-api" }, "openai-api"],
  ])("%s gets %s as a complete model name", (_, name, model, provider) => {
    const given = { model, providers: LAB, env: { ...ALL_KEYS, OLLAMA_API_KEY: "o" } };
    expect(resolve(given, { model: name })).toMatchObject({ provider, model: name });
    expect(resolve({ ...given, model: { ...model, default: name } })).toMatchObject({ model: name });
  });

  it("another program's name for a provider is accepted, unless a configured server has that name", () => {
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

  it("a requested name that a custom server or a vendor may have is an error; in the settings it means the custom server", () => {
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
    ["mine:llama3", "Use one of anthropic, openai-api, openrouter,"],
    ["llama3.1:8b", "`--provider NAME -m llama3.1:8b`"],
    ["qwen3:8b", "such as Ollama, set model.base_url"],
  ])("M6: %s is an error, never a request to another provider", (name, meant) => {
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

  it("M6: another provider does not inherit the configured model", () => {
    const given = {
      model: { provider: "anthropic", default: "claude-opus-4-5" },
      providers: LAB,
      env: ALL_KEYS,
    };
    expect(resolve(given, { provider: "lab" })).toMatchObject({ provider: "lab", model: "lab-1" });
    expect(resolve(given, { provider: "anthropic" })).toMatchObject({ model: "claude-opus-4-5" });
    expect(refusal(given, { provider: "openrouter" })).toMatchObject({ code: "model-unnamed" });
  });

  it("the model name that is sent does not contain the provider's name", () => {
    const model = { provider: "lab", default: "lab:q", aliases: { fast: "lab:tiny", far: "openrouter:x" } };
    const given = { model, providers: LAB, env: ALL_KEYS };
    expect(resolve(given, { provider: "lab" })).toMatchObject({ provider: "lab", model: "q" });
    expect(resolve({ ...given, model: { ...model, provider: "auto" } }, { provider: "lab" }).model).toBe("q");
    expect(resolve(given, { provider: "lab", model: "fast" }).model).toBe("tiny");
    expect(resolve(given, { provider: "lab", model: "lab:whole" }).model).toBe("lab:whole");
    expect(resolve(given, { provider: "anthropic" }).model).toBe("claude-sonnet-4-5");
    expect(refusal(given, { provider: "lab", model: "far" }).text).toContain(
      "far means openrouter:x, which is not a model of lab.",
    );
    const unnamed = { model: { provider: "lab" }, providers: LAB, env: ALL_KEYS };
    expect(resolve(unnamed, { provider: "lab" }).model).toBe("lab-1");
  });

  it.each(["openrouter", "openai", "lab"])("the provider %s alone is not a model", (name) => {
    const { code, text } = refusal({ providers: LAB, env: ALL_KEYS }, { model: name });
    expect(code).toBe("provider-unknown");
    expect(text).toMatch(/is a provider, not a model\. Write (openrouter|openai-api|lab):NAME, or/);
  });

  it("a script is a route without an address and a key", () => {
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
  it("M6: a provider's key is not sent to another host", () => {
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

  it.each(Object.keys(PROVIDER_PROFILES))(
    "M6: with every key set, %s gets its own key or none",
    (provider) => {
      const env: Record<string, string> = {};
      for (const { keyVariables } of Object.values(PROVIDER_PROFILES))
        for (const name of keyVariables) env[name] = `key of ${name}`;
      const route = resolve({
        model: { provider, default: "m", base_url: "https://elsewhere.example/v1" },
        env,
      });
      expect(route.key).toBe(provider === "custom" ? "key of OPENAI_API_KEY" : undefined);
      if (provider === "custom" || provider === "scripted") return;
      const { baseUrl = "https://own.example/v1", keyVariables }: ProviderProfile =
        findProviderProfile(provider) ?? PROVIDER_PROFILES.custom;
      const [own] = keyVariables;
      const providers = { [provider]: { base_url: baseUrl } };
      expect(resolve({ model: { provider, default: "m" }, providers, env }).key).toBe(own && `key of ${own}`);
    },
  );

  it.each([
    ["ollama", "http://127.0.0.1:11434/v1"],
    ["vllm", "http://127.0.0.1:8000/v1"],
    ["llama.cpp", "http://127.0.0.1:8080/v1"],
    ["lm-studio", "http://127.0.0.1:1234/v1"],
  ])("M6: %s is a server on this machine and gets no key of another provider", (name, baseUrl) => {
    const route = resolve({ env: ALL_KEYS }, { model: `${name}:qwen3:8b` });
    expect(route).toMatchObject({ model: "qwen3:8b", baseUrl, key: undefined });
    expect(route.keyHint).toMatch(/key/i);
    expect(route.keyHint).not.toContain("undefined");
  });

  const ownerOf = (name: string) =>
    hosts.find(({ keyVariables }) => keyVariables.includes(name))?.id ?? "custom";
  const hosts = Object.entries(PROVIDER_PROFILES).flatMap(([id, { baseUrl, keyVariables }]) =>
    baseUrl === undefined || keyVariables.length === 0
      ? []
      : [{ id, baseUrl, keyVariables: keyVariables as readonly string[] }],
  );
  it.each(hosts)(
    "M6: whichever provider is named, the address of $id gets its own key or none",
    ({ id, baseUrl, keyVariables }) => {
      const variables = hosts.flatMap((host) => host.keyVariables);
      // The address and the key do not belong to the other provider.
      for (const name of variables)
        for (const named of ["custom", "auto", "lab", id, ownerOf(name)])
          for (const address of [
            baseUrl,
            baseUrl.replace(/^(https?:..[^:/]+)/, "$1."),
            `${new URL(baseUrl).origin}/other`,
          ]) {
            if (id === "lmstudio" && address.includes("127.0.0.1.")) continue;
            const wanted = keyVariables.includes(name) ? [`key of ${name}`, undefined] : [undefined];
            const env = { [name]: `key of ${name}` };
            const check = (given: Given) => {
              try {
                expect(wanted).toContain(resolve({ ...given, env }).key);
              } catch (error) {
                expect(error).toMatchObject({ code: "provider-key-missing" });
              }
            };
            const provider = named === "lab" ? "custom" : named;
            check({ model: { provider, base_url: address, default: "m" } });
            check({ model: { provider, default: "m" }, runAddress: address });
            if (named === "auto" || named === "custom") continue;
            check({
              model: { provider: named, default: "m" },
              providers: { [named]: { base_url: address } },
            });
          }
      if (id === "lmstudio") return;
      const [own] = keyVariables;
      const model = { base_url: baseUrl, default: "m" };
      expect(resolve({ model, env: { [String(own)]: "own", OPENAI_API_KEY: "own" } }).key).toBe("own");
      if (id === "openai-api") return;
      const { key, keyHint, withheldKey } = resolve({ model, env: { OPENAI_API_KEY: "oai" } });
      expect([key, withheldKey]).toEqual([undefined, "OPENAI_API_KEY"]);
      expect(keyHint).toContain(
        `OPENAI_API_KEY was not sent, because ${new URL(baseUrl).host} belongs to ${id}.`,
      );
      expect(keyHint).toContain(String(own));
    },
  );

  it("an unnamed server may get OPENAI_API_KEY, a named server only its own key", () => {
    const unnamed = { model: { base_url: "http://127.0.0.1:8080/v1", default: "m" }, env: ALL_KEYS };
    expect(resolve(unnamed)).toMatchObject({ provider: "custom", key: "oai" });
    const { lab } = LAB;
    expect(resolve({ providers: { lab }, env: ALL_KEYS }, { model: "lab:m" })).toMatchObject({ key: "lab" });
    const keyless = { lab: { base_url: lab.base_url } };
    expect(resolve({ providers: keyless, env: ALL_KEYS }, { model: "lab:m" })).toMatchObject({
      key: undefined,
    });
  });

  it("the key variable of a named server applies to its own address, not to model.base_url", () => {
    const model = { provider: "lab", base_url: "https://elsewhere.example/v1", default: "m" };
    const route = resolve({ model, providers: LAB, env: ALL_KEYS });
    expect(route).toMatchObject({ baseUrl: "https://elsewhere.example/v1", key: undefined });
  });

  it("the configured address of a provider gets its key", () => {
    const providers = { anthropic: { base_url: "https://gateway:8080" } };
    const route = resolve({ providers, env: ALL_KEYS }, { model: "anthropic:m" });
    expect(route).toMatchObject({ baseUrl: "https://gateway:8080", key: "ant", keyHint: undefined });
  });

  it("a provider's key is not sent unencrypted over a network, unless key_env names it for that address", () => {
    const base_url = "http://gateway:8080";
    const route = resolve(
      { providers: { openrouter: { base_url } }, env: ALL_KEYS },
      { model: "openrouter:m" },
    );
    expect(route).toMatchObject({ baseUrl: base_url, key: undefined, withheldKey: "OPENROUTER_API_KEY" });
    expect(route.keyHint).toBe(
      "OPENROUTER_API_KEY was not sent, because providers.openrouter.base_url is not encrypted. Use https, or allow it anyway with `hermes config set providers.openrouter.key_env OPENROUTER_API_KEY`.",
    );
    const openrouter = { base_url, key_env: "OPENROUTER_API_KEY" };
    const named = resolve({ providers: { openrouter }, env: ALL_KEYS }, { model: "openrouter:m" });
    expect(named).toMatchObject({ key: "or" });
  });

  it("model.api_key applies to model.base_url, not to a provider that is found without it", () => {
    const model = { api_key: "mine", default: "m" };
    expect(resolve({ model, env: { OPENROUTER_API_KEY: "or" } })).toMatchObject({
      provider: "openrouter",
      key: "or",
    });
    expect(refusal({ model: { ...model, provider: "openrouter" } }).code).toBe("provider-key-missing");
  });

  it("the headers and TLS settings of a server apply to its own address only", () => {
    const special = {
      headers: { "x-secret": "s" },
      request_overrides: { user: "me" },
      ssl_verify: false,
      ssl_ca_cert: "/ca.pem",
    };
    const providers = { lab: { base_url: "https://lab.example/v1", ...special } };
    const model = { provider: "lab", default: "m" };
    const own = { headers: special.headers, verifiesTls: false, caFile: "/ca.pem" };
    expect(resolve({ model, providers })).toMatchObject({ ...own, requestOverrides: { user: "me" } });
    const elsewhere = { ...model, base_url: "https://elsewhere.example/v1" };
    expect(resolve({ model: elsewhere, providers })).toMatchObject({
      headers: {},
      requestOverrides: {},
      verifiesTls: true,
      caFile: undefined,
    });
    // A named server without an address uses the configured one.
    expect(resolve({ model: elsewhere, providers: { lab: special } })).toMatchObject(own);
  });

  it("a key is sent without surrounding whitespace, and a key that HTTP does not allow in a header is reported", () => {
    const model = { base_url: "https://gw.example/v1", default: "m" };
    expect(resolve({ env: { OPENAI_API_KEY: " oai\n" } })).toMatchObject({ key: "oai" });
    expect(resolve({ model: { ...model, api_key: "\tmine " } })).toMatchObject({ key: "mine" });
    expect(refusal({ model: { ...model, default: "" }, env: { OPENAI_API_KEY: " " } }).code).toBe(
      "model-unnamed",
    );
    for (const bad of ["schlüssel", "two\nlines"]) {
      const { code, text } = refusal({ env: { OPENAI_API_KEY: bad } });
      expect(code).toBe("config-invalid");
      expect(text).toContain("OPENAI_API_KEY is not a key: it contains line breaks or non-ASCII characters");
      expect(text).not.toContain(bad);
    }
  });

  it.each([
    ["http://127.0.0.1:8080/v1", "oai"],
    ["http://localhost:8080/v1", "oai"],
    ["http://[::1]:8080/v1", "oai"],
    ["https://gw.example/v1", "oai"],
    ["http://gw.example/v1", undefined],
    ["http://192.168.1.7:8000/v1", undefined],
    ["http://localhost.example/v1", undefined],
  ])("OPENAI_API_KEY is not sent unencrypted to an unnamed server: %s gets %s", (base_url, key) => {
    const route = resolve({ model: { base_url, default: "m" }, env: ALL_KEYS });
    expect(route.key).toBe(key);
    if (key === undefined)
      expect(route.keyHint).toBe(
        "OPENAI_API_KEY was not sent, because this address is not encrypted. Store the key for this address with `hermes config set model.api_key`.",
      );
    const own = resolve({ model: { base_url, default: "m", api_key: "mine" }, env: ALL_KEYS });
    expect(own).toMatchObject({ key: "mine", keyHint: undefined });
  });

  it("a route without a key explains why, and how to set one", () => {
    const hintOf = (given: Given, request?: RouteRequest) => resolve(given, request).keyHint;
    const base_url = "https://gw.example/v1";
    expect(hintOf({ model: { base_url, default: "m" } })).toBe(
      "Store the key for this address with `hermes config set model.api_key`.",
    );
    expect(hintOf({ model: { base_url, default: "m", provider: "anthropic" }, env: ALL_KEYS })).toBe(
      "ANTHROPIC_API_KEY was not sent, because it is for api.anthropic.com and for providers.anthropic.base_url only. Store the key for this address with `hermes config set model.api_key`.",
    );
    const named = { providers: { lab: { base_url } } };
    expect(hintOf(named, { model: "lab:m" })).toContain("`hermes config set providers.lab.key_env NAME`");
    expect(hintOf({ providers: LAB }, { model: "lab:m" })).toBe(
      "Add it with `hermes auth add lab`, or put LAB_KEY into the environment.",
    );
    expect(hintOf({ providers: { anthropic: { base_url } } }, { model: "anthropic:m" })).toContain(
      "`hermes auth add anthropic`",
    );
  });

  it("the configured key belongs to the configured address", () => {
    const model = { base_url: "https://gw.example/v1", api_key: "mine", default: "m" };
    expect(resolve({ model, env: ALL_KEYS })).toMatchObject({ key: "mine", keySource: "model.api_key" });
    expect(resolve({ model, providers: LAB, env: ALL_KEYS }, { model: "openrouter:x" })).toMatchObject({
      baseUrl: "https://openrouter.ai/api/v1",
      key: "or",
    });
    expect(resolve({ model, providers: LAB, env: {} }, { model: "lab:x" })).toMatchObject({ key: undefined });
  });

  it("the settings may name another key variable for a built-in provider", () => {
    const providers = { anthropic: { key_env: "WORK_KEY" } };
    const given = { model: { provider: "anthropic" }, providers, env: { ...ALL_KEYS, WORK_KEY: "w" } };
    expect(resolve(given)).toMatchObject({ key: "w", keySource: "WORK_KEY" });
    expect(refusal({ ...given, env: ALL_KEYS }).text).toContain("WORK_KEY");
  });

  it("the error about a missing key names its variable", () => {
    const { code, text } = refusal({ model: { provider: "zai", default: "m" } });
    expect(code).toBe("provider-key-missing");
    expect(text).toContain("ZAI_API_KEY");
  });

  it("the error about a missing address names its setting", () => {
    expect(refusal({ model: { provider: "custom", default: "m" } }).text).toContain("model.base_url");
    expect(refusal({ providers: { lab: {} } }, { model: "lab:m" }).text).toContain("providers.lab.base_url");
  });
});

describe("the wire format and the limits", () => {
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
    ["https://generativelanguage.googleapis.com/v1beta", "google_generate", 180_000, 1_800_000],
    ["https://generativelanguage.googleapis.com/v1beta/openai", "chat_completions", 180_000, 1_800_000],
  ])("A6, A10: %s uses %s", (base_url, apiMode, staleMs, requestMs) => {
    expect(resolve({ model: { base_url, default: "m" } })).toMatchObject({
      apiMode,
      timeouts: { staleMs, requestMs },
    });
  });

  it("A10, M6: with a window for Ollama, its own API is used, which can set one; other servers are not affected", () => {
    const ollama_num_ctx = 65_536;
    const model = { provider: "ollama", default: "qwen3:8b", ollama_num_ctx };
    const expected = {
      apiMode: "ollama_chat",
      ollamaWindow: 65_536,
      contextTokens: 65_536,
      contextSource: "setting",
    };
    expect(resolve({ model })).toMatchObject(expected);
    expect(
      resolve({ model: { base_url: "http://box:11434/v1", default: "m", ollama_num_ctx } }),
    ).toMatchObject(expected);
    // The setting also applies to sessions that began before it was made.
    const kept = { address: "http://127.0.0.1:11434/v1", apiMode: "chat_completions" };
    expect(resolve({ model }, { provider: "ollama", model: "qwen3:8b", kept })).toMatchObject(expected);
    for (const other of [
      { ...model, ollama_num_ctx: null },
      { ...model, api_mode: "chat_completions" as const },
      { base_url: "http://localhost:8000/v1", default: "m", ollama_num_ctx },
    ])
      expect(resolve({ model: other })).toMatchObject({
        apiMode: "chat_completions",
        ollamaWindow: undefined,
      });
  });

  it("A10: a configured wire format overrides the one that the address suggests", () => {
    const providers = {
      lab: { base_url: "https://x.example/anthropic", api_mode: "chat_completions" as const },
    };
    expect(resolve({ providers }, { model: "lab:m" })).toMatchObject({ apiMode: "chat_completions" });
    const model = { base_url: "https://x.example/v1", api_mode: "anthropic_messages" as const, default: "m" };
    expect(resolve({ model })).toMatchObject({ apiMode: "anthropic_messages" });
    expect(resolve({ model: { ...model, api_mode: "codex_responses" } })).toMatchObject({
      apiMode: "codex_responses",
    });
  });

  it.each([
    ["gpt-5", "codex_responses"],
    ["gpt-5.1-codex-mini", "codex_responses"],
    ["o3-pro-2025-06-10", "codex_responses"],
    ["gpt-5-chat-latest", "chat_completions"],
    ["gpt-4.1", "chat_completions"],
  ])(
    "A10: OpenAI's model %s uses %s, unless a setting or another address says otherwise",
    (model, apiMode) => {
      const env = { OPENAI_API_KEY: "k" };
      const request = { model: `openai-api:${model}` };
      expect(resolve({ env }, request)).toMatchObject({ apiMode });
      for (const own of [{ api_mode: "chat_completions" as const }, { base_url: "https://x.example/v1" }])
        expect(resolve({ env, providers: { "openai-api": own } }, request)).toMatchObject({
          apiMode: "chat_completions",
        });
    },
  );

  it("A10: Gemini uses its own format, and its address for chat completions where that format is set", () => {
    const host = "https://generativelanguage.googleapis.com/v1beta";
    const ask = (own: object) =>
      resolve(
        { env: { GEMINI_API_KEY: "k" }, providers: { gemini: own } },
        { model: "gemini:gemini-2.5-pro" },
      );
    expect(ask({})).toMatchObject({ apiMode: "google_generate", baseUrl: host, key: "k" });
    for (const own of [{ api_mode: "chat_completions" }, { base_url: `${host}/openai` }])
      expect(ask(own)).toMatchObject({ apiMode: "chat_completions", baseUrl: `${host}/openai`, key: "k" });
  });

  it("A6: timeouts and context windows come from the model's settings, then the provider's, then the defaults", () => {
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
      contextTokens: 128_000,
    });
    expect(resolve({ providers }, { model: "lab:slow" })).toMatchObject({
      timeouts: { staleMs: 60_000, requestMs: 90_000 },
      contextTokens: 9000,
    });
  });

  it("a configured price is used, and without cache prices cached tokens cost as much as input", () => {
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

  it("the configured context window applies to the configured model", () => {
    const given = { model: { provider: "anthropic", context_length: 50_000 }, env: ALL_KEYS };
    expect(resolve(given)).toMatchObject({ contextTokens: 50_000 });
    expect(resolve(given, { model: "openai-api:gpt-4.1" })).toMatchObject({ contextTokens: 1_047_576 });
  });
});
