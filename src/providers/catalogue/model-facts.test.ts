import { expect, test } from "vitest";
import { BUNDLED_DATA, findKnownModel, findNativeModel } from "./model-data.ts";
import { modelDataSchema } from "./model-data-schema.ts";
import { resolveFacts, smallWindowNotice } from "./model-facts.ts";

const window = (contextTokens: number) => ({ contextTokens });

test("B1: the window comes from the setting, then an error, then the list, then the data file, then the default", () => {
  const all = {
    configured: window(1_000),
    statedTokens: 2_000,
    listed: window(3_000),
    known: window(4_000),
  };
  expect(resolveFacts(all)).toMatchObject({ contextTokens: 1_000, contextSource: "setting" });
  const unset = { ...all, configured: {} };
  expect(resolveFacts(unset)).toMatchObject({ contextTokens: 2_000, contextSource: "error" });
  const unstated = { ...unset, statedTokens: undefined };
  expect(resolveFacts(unstated)).toMatchObject({ contextTokens: 3_000, contextSource: "list" });
  const unlisted = { ...unstated, listed: { price: undefined } };
  expect(resolveFacts(unlisted)).toMatchObject({ contextTokens: 4_000, contextSource: "data" });
  expect(resolveFacts({ configured: {} })).toMatchObject({
    contextTokens: 128_000,
    contextSource: "default",
  });
});

test("B1: an aggregator can lower the vendor's window, but not raise it", () => {
  const native = window(200_000);
  const listed = (contextTokens: number) =>
    resolveFacts({ configured: {}, native, listed: window(contextTokens) }).contextTokens;
  expect(listed(1_000_000)).toBe(200_000);
  expect(listed(64_000)).toBe(64_000);
  expect(resolveFacts({ configured: {}, native })).toMatchObject({ contextTokens: 200_000 });
});

test("the price comes from the setting, then the list, then the data file", () => {
  const price = (input: number) => ({ price: { input, output: 1, cacheRead: 1, cacheWrite: 1 } });
  const sources = { configured: price(1), listed: price(2), known: price(3) };
  expect(resolveFacts(sources).price?.input).toBe(1);
  expect(resolveFacts({ ...sources, configured: {} }).price?.input).toBe(2);
  expect(resolveFacts({ configured: {}, known: price(3) }).price?.input).toBe(3);
});

test("the bundled data file has the form that `model refresh` requires", () => {
  expect(modelDataSchema.safeParse(BUNDLED_DATA).error).toBeUndefined();
});

test("a dated name and an aggregator's name mean the same model", () => {
  const own = findKnownModel(BUNDLED_DATA, "anthropic", "claude-sonnet-4-5");
  expect(own).toMatchObject({ contextTokens: 200_000, price: { input: 3, cacheRead: 0.3 } });
  expect(findKnownModel(BUNDLED_DATA, "anthropic", "claude-sonnet-4-5-20250929")).toEqual(own);
  expect(findNativeModel(BUNDLED_DATA, "anthropic/claude-sonnet-4.5:beta")).toEqual(own);
  expect(findKnownModel(BUNDLED_DATA, "anthropic", "constructor")).toBeUndefined();
  expect(findKnownModel(BUNDLED_DATA, "constructor", "name")).toBeUndefined();
  expect(findNativeModel(BUNDLED_DATA, "somebody/claude-sonnet-4.5")).toBeUndefined();
});

test("B1: a small window gives a notice, unless the user has set it", () => {
  const notice = (contextTokens: number | undefined, contextSource: "list" | "setting", isOllama = false) =>
    smallWindowNotice("m", { contextTokens, contextSource }, { isOllama });
  expect(notice(8_192, "list")).toContain("only 8192 tokens");
  expect(notice(8_192, "list")).toContain("set model.context_length");
  expect(notice(8_192, "list", true)).toContain("set model.ollama_num_ctx");
  expect(notice(64_000, "list")).toBeUndefined();
  expect(notice(8_192, "setting")).toBeUndefined();
  expect(notice(undefined, "list")).toBeUndefined();
});
