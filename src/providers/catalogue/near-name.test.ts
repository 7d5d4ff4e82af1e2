import { expect, test } from "vitest";
import { storedSettings } from "../../../test/support/route-settings.ts";
import { resolveRoute } from "../routes/resolve-route.ts";
import { BUNDLED_DATA } from "./model-data.ts";
import { findNearName, requireKnownName } from "./near-name.ts";

const KNOWN = ["gpt-5", "gpt-5-mini", "claude-sonnet-4-5", "qwen3:8b", "anthropic/claude-haiku-4.5"];

test.each([
  ["gpt-5-mni", "gpt-5-mini"],
  ["gpt5", "gpt-5"],
  ["GPT-5", "gpt-5"],
  ["claude-sonet-4-5", "claude-sonnet-4-5"],
  ["claude-sonnet-4.5", "claude-sonnet-4-5"],
  ["qwen38b", "qwen3:8b"],
  ["claude-haiku-4.5", "anthropic/claude-haiku-4.5"],
])("B3: %s probably means %s", (typed, meant) => {
  expect(findNearName(typed, KNOWN)).toBe(meant);
});

test.each([["gpt-5.1"], ["gpt-6"], ["gpt-5-max"], ["claude-opus-4-5"], ["llama"], ["x"]])(
  "B3: %j is not taken for a misspelling",
  (typed) => {
    expect(findNearName(typed, KNOWN)).toBeUndefined();
  },
);

function check(
  model: string,
  { provider = "openai-api", listed = [] as string[], models = [] as string[] } = {},
) {
  const settings = storedSettings({}, { [provider]: { models, key_env: "KEY" } });
  const route = resolveRoute(settings, { provider, model }, () => "key");
  requireKnownName(
    settings,
    BUNDLED_DATA,
    route,
    listed.map((name) => ({ name })),
  );
}

test("B3: a name that is nearly right, or that belongs to another provider, is refused with the right one", () => {
  expect(() => check("gpt-5-mni")).toThrow(
    expect.objectContaining({
      code: "model-unknown",
      hint: expect.stringMatching(/^Did you mean gpt-5-mini\?/),
    }),
  );
  expect(() => check("claude-sonnet-4-5")).toThrow(
    expect.objectContaining({ hint: "Write anthropic:claude-sonnet-4-5." }),
  );
  expect(() => check("Qwen", { provider: "openrouter", listed: ["qwen"] })).toThrow(
    /has no model named Qwen/,
  );
});

test("B3: a name that is listed, configured, dated or merely unknown is accepted", () => {
  check("gpt-5-mni", { listed: ["gpt-5-mni"] });
  check("gpt-5-mni", { models: ["gpt-5-mni"] });
  check("gpt-5-2025-08-07");
  check("gpt-9-ultra");
  check("llama3", { provider: "openrouter", listed: ["llama3:latest"] });
});
