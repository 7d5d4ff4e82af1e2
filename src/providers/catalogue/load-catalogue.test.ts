import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { z } from "zod";
import { storedSettings } from "../../../test/support/route-settings.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { AppError } from "../../lib/errors.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import type { modelOptions, providersOption } from "../options.ts";
import { resolveRoute } from "../routes/resolve-route.ts";
import { type CatalogueRequest, loadCatalogue } from "./load-catalogue.ts";
import { createModelCache } from "./model-cache.ts";
import type { ListedModel } from "./parse-list.ts";
import { createRouteCatalogue } from "./route-catalogue.ts";

const HOUR_MS = 3_600_000;

interface Given {
  readonly model?: z.input<typeof modelOptions>;
  readonly providers?: z.input<typeof providersOption>;
  readonly env?: Readonly<Record<string, string>>;
}

/** A catalogue whose servers answer with `lab.lists`, by provider; a server without a list fails. */
async function openLab({ model = {}, providers = {}, env = {} }: Given) {
  const folder = await tempFolder();
  const clock = new TurnableClock();
  const lists = new Map<string, readonly ListedModel[]>();
  const asked: string[] = [];
  const settings = storedSettings(model, providers);
  const variable = (name: string) => env[name];
  const parts = {
    settings,
    variable,
    cache: createModelCache(folder.path),
    ttlMs: HOUR_MS,
    clock,
    async fetchList({ provider }: { readonly provider: string }) {
      asked.push(provider);
      const list = lists.get(provider);
      if (list === undefined) throw new AppError("models-unlisted", "down");
      return list;
    },
  };
  return {
    lists,
    clock,
    folder,
    takeAsked: () => asked.splice(0),
    load: (request: Partial<CatalogueRequest> = {}) =>
      loadCatalogue(parts, { use: "recent", ...request }, neverAborted),
    route: (name?: string) =>
      createRouteCatalogue(parts).complete(
        resolveRoute(settings, { model: name }, variable),
        { model: name, provider: undefined },
        neverAborted,
      ),
    remember: (tokens: number) =>
      createRouteCatalogue(parts).rememberWindow(resolveRoute(settings, {}, variable), tokens),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test("B2: a recent list is used, and an old one replaced; if that fails, the old one is used before the data file", async () => {
  await using lab = await openLab({ env: { ANTHROPIC_API_KEY: "k" } });
  const load = async (use: CatalogueRequest["use"] = "recent") => {
    const [group] = await lab.load({ use });
    return {
      names: group?.models.map(({ name }) => name),
      problem: group?.problem?.message,
      at: group?.listedAt,
    };
  };
  // Without any list, the data file.
  const first = await load();
  expect(first).toMatchObject({ problem: "down", at: undefined });
  expect(first.names).toContain("claude-sonnet-4-5");
  lab.lists.set("anthropic", [{ name: "one" }]);
  const listedAt = lab.clock.now();
  expect(await load()).toEqual({ names: ["one"], problem: undefined, at: listedAt });
  lab.lists.set("anthropic", [{ name: "two" }]);
  expect((await load()).names).toEqual(["one"]);
  expect((await load("fresh")).names).toEqual(["two"]);
  await lab.clock.advance(HOUR_MS);
  lab.lists.delete("anthropic");
  expect(await load()).toMatchObject({ names: ["two"], problem: "down", at: listedAt });
  lab.takeAsked();
  expect((await load("stored")).names).toEqual(["two"]);
  expect(lab.takeAsked()).toEqual([]);
  // After the clock is turned back, a list with a time in the future does not count as recent.
  lab.lists.set("anthropic", [{ name: "three" }]);
  await load("fresh");
  await lab.clock.advance(-10 * HOUR_MS);
  lab.takeAsked();
  await load();
  expect(lab.takeAsked()).toContain("anthropic");
});

test("B2: the settings and the favourites add to a server's list, and the data file adds facts", async () => {
  await using lab = await openLab({
    model: { favourites: ["anthropic:claude-haiku-4-5", "openai-api:gpt-5"] },
    providers: { anthropic: { models: ["mine"] } },
    env: { ANTHROPIC_API_KEY: "k" },
  });
  lab.lists.set("anthropic", [{ name: "claude-sonnet-4-5" }, { name: "new", contextTokens: 9_000 }]);
  const [group] = await lab.load();
  expect(group?.models).toMatchObject([
    { name: "claude-haiku-4-5", source: "favourite", isFavourite: true, contextTokens: 200_000 },
    {
      name: "claude-sonnet-4-5",
      source: "server",
      isKnown: true,
      contextTokens: 200_000,
      price: { input: 3 },
    },
    { name: "mine", source: "settings", contextTokens: undefined },
    { name: "new", source: "server", isKnown: false, contextTokens: 9_000 },
  ]);
});

test("B2: the provider of the settings is listed before a model is chosen, and a named provider even at the same address", async () => {
  const address = "http://127.0.0.1:1/v1";
  const providers = { mine: { base_url: address, model: "usual", models: ["other"] } };
  await using lab = await openLab({ model: { provider: "custom", base_url: address }, providers });
  lab.lists.set("custom", [{ name: "one" }]);
  const groups = await lab.load();
  expect(groups.map(({ provider, models }) => [provider, models.map(({ name }) => name)])).toEqual([
    ["custom", ["one"]],
    ["mine", ["other", "usual"]],
  ]);
});

test("M6: only usable providers are listed, the current one first; the others are listed on request", async () => {
  await using lab = await openLab({
    model: { provider: "xai", default: "grok-4" },
    env: { OPENAI_API_KEY: "k", XAI_API_KEY: "k" },
  });
  const names = async (request: Partial<CatalogueRequest> = {}) =>
    (await lab.load(request)).map(
      ({ provider, route }) => `${provider}${route === undefined ? " (no key)" : ""}`,
    );
  expect(await names()).toEqual(["xai", "openai-api"]);
  expect(await names({ unusable: true })).toContain("anthropic (no key)");
  expect(await names({ provider: "anthropic" })).toEqual(["anthropic (no key)"]);
  expect(await names({ provider: "openai-api" })).toEqual(["openai-api"]);
});

test("M6: while the current model is local, no other server is asked unless the user names it", async () => {
  await using lab = await openLab({
    model: { base_url: "http://127.0.0.1:1/v1", default: "m" },
    env: { OPENAI_API_KEY: "k" },
  });
  await lab.load({ use: "fresh" });
  const asked = lab.takeAsked();
  expect(asked).toContain("custom");
  expect(asked).not.toContain("openai-api");
  await lab.load({ provider: "openai-api" });
  expect(lab.takeAsked()).toEqual(["openai-api"]);
});

test("M6: the address of the current model is not used for other providers", async () => {
  await using lab = await openLab({
    model: { provider: "xai", base_url: "https://proxy.example/v1", default: "m" },
    env: { OPENAI_API_KEY: "k", XAI_API_KEY: "k" },
  });
  const addresses = (await lab.load()).map(({ route }) => route?.baseUrl);
  expect(addresses).toEqual(["https://proxy.example/v1", "https://api.openai.com/v1"]);
});

test("B2: a list that cannot be stored is shown", async () => {
  await using lab = await openLab({ env: { ANTHROPIC_API_KEY: "k" } });
  lab.lists.set("anthropic", [{ name: "one" }]);
  await writeFile(lab.folder.file("cache"), "a file where the folder should be");
  const [group] = await lab.load();
  expect(group?.models.map(({ name }) => name)).toEqual(["one"]);
  expect(group?.problem?.message).toContain("cache");
});

test("B1: the window of a local server's model is requested once, even if that fails", async () => {
  await using lab = await openLab({ model: { base_url: "http://127.0.0.1:1/v1", default: "qwen3" } });
  const window = async () => {
    const { contextTokens, contextSource } = await lab.route();
    return [contextTokens, contextSource];
  };
  expect(await window()).toEqual([128_000, "default"]);
  expect(await window()).toEqual([128_000, "default"]);
  expect(lab.takeAsked()).toEqual(["custom"]);
  lab.lists.set("custom", [{ name: "qwen3:latest", contextTokens: 40_960 }]);
  await lab.clock.advance(HOUR_MS);
  expect(await window()).toEqual([40_960, "list"]);
  expect(await window()).toEqual([40_960, "list"]);
  expect(lab.takeAsked()).toEqual(["custom"]);
  await lab.remember(8_192);
  await lab.clock.advance(HOUR_MS);
  expect(await window()).toEqual([8_192, "error"]);
  expect(lab.takeAsked()).toEqual([]);
});

test("B1: for the window of a provider on the internet only its stored list is used, without a request", async () => {
  await using lab = await openLab({ model: { default: "openrouter:a/b" }, env: { OPENROUTER_API_KEY: "k" } });
  expect(await lab.route()).toMatchObject({ contextTokens: 128_000, contextSource: "default" });
  expect(lab.takeAsked()).toEqual([]);
  const price = { input: 1, output: 2, cacheRead: 1, cacheWrite: 1 };
  lab.lists.set("openrouter", [
    { name: "a/b", contextTokens: 50_000, price },
    { name: "anthropic/claude-sonnet-4.5", contextTokens: 1_000_000 },
  ]);
  await lab.load();
  expect(await lab.route()).toMatchObject({ contextTokens: 50_000, contextSource: "list", price });
  expect(await lab.route("openrouter:anthropic/claude-sonnet-4.5")).toMatchObject({ contextTokens: 200_000 });
  await expect(lab.route("openrouter:claude-sonnet-4.5")).rejects.toMatchObject({
    code: "model-unknown",
    hint: expect.stringContaining("Did you mean anthropic/claude-sonnet-4.5?"),
  });
});
