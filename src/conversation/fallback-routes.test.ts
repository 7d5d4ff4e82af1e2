import { describe, expect, it } from "vitest";
import { storedSettings } from "../../test/support/route-settings.ts";
import { fallbackProvidersOption } from "../providers/options.ts";
import { resolveRoute } from "../providers/routes/resolve-route.ts";
import { createFallbacks, resolveFallback } from "./fallback-routes.ts";

const KEYS: Readonly<Record<string, string>> = {
  OPENAI_API_KEY: "openai",
  OPENAI_API_KEY_2: "openai-2",
  ANTHROPIC_API_KEY: "anthropic",
  LAB_KEY: "lab",
};
const variable = (name: string) => KEYS[name];

function settingsWith(entry: object, ...given: Parameters<typeof storedSettings>) {
  return { ...storedSettings(...given), fallback_providers: fallbackProvidersOption.parse([entry]) };
}

describe("M6: the route of a fallback", () => {
  const rows: readonly [string, object, object][] = [
    [
      "has the keys of its own provider",
      { provider: "openai", model: "gpt-5" },
      { provider: "openai-api", keys: [{ value: "openai" }, { value: "openai-2" }], contextTokens: 400_000 },
    ],
    [
      "gets no key if its address is not that of its provider",
      { provider: "openai-api", model: "m", base_url: "https://proxy.example/v1" },
      { baseUrl: "https://proxy.example/v1", keys: [], addressKey: "fallback_providers.0.base_url" },
    ],
    [
      "gets the key that it names, and only that one",
      { provider: "openai-api", model: "m", base_url: "https://proxy.example/v1", key_env: "LAB_KEY" },
      { keys: [{ value: "lab", source: "LAB_KEY" }], contextTokens: 128_000 },
    ],
    [
      "has its own window, not the one of the configured model",
      { provider: "custom", model: "m", base_url: "http://127.0.0.1:1/v1", context_length: 5_000 },
      { baseUrl: "http://127.0.0.1:1/v1", contextTokens: 5_000 },
    ],
    [
      "uses the configured server if it names no other",
      { provider: "custom", model: "small" },
      { baseUrl: "https://own.example/v1", model: "small", keys: [{ source: "model.api_key" }] },
    ],
  ];
  it.each(rows)("%s", (_, entry, expected) => {
    const settings = settingsWith(entry, {
      base_url: "https://own.example/v1",
      api_key: "own",
      default: "big",
      context_length: 99,
    });
    const route = resolveFallback(settings, 0, variable);
    expect(route).toMatchObject({ model: Reflect.get(entry, "model"), ...expected });
    expect(route.keys).toHaveLength(Reflect.get(expected, "keys")?.length ?? route.keys.length);
  });

  it("is refused for a remote server if the session was moved to a local one", () => {
    const local = { base_url: "http://127.0.0.1:1/v1", model: "m" };
    const settings = settingsWith(
      { provider: "anthropic", model: "x" },
      { provider: "openai-api" },
      { local },
    );
    const chosen = resolveRoute(settings, { provider: "local" }, variable);
    expect(() => createFallbacks(settings, chosen, variable)[0]?.resolve()).toThrow("is local");
    const configured = { ...settings, model: { ...settings.model, provider: "local" } };
    expect(createFallbacks(configured, chosen, variable)[0]?.resolve()).toMatchObject({
      provider: "anthropic",
    });
  });
});
