import { expect, test } from "vitest";
import { storedSettings } from "../../../test/support/route-settings.ts";
import { resolveRoute } from "../routes/resolve-route.ts";
import { findPoolKeys } from "./pool-key.ts";

const VARIABLES: Readonly<Record<string, string>> = {
  GEMINI_API_KEY_3: " three ",
  GOOGLE_API_KEY: "google",
  GOOGLE_API_KEY_2: "three",
  OPENAI_API_KEY: "openai",
  OPENAI_API_KEY_2: "openai-2",
};
const variable = (name: string) => VARIABLES[name];

test("A7: the keys of a provider come from all its variables in order, each value once; numbers may be missing", () => {
  expect(findPoolKeys(["GEMINI_API_KEY", "GOOGLE_API_KEY"], variable)).toEqual([
    { value: "three", source: "GEMINI_API_KEY_3" },
    { value: "google", source: "GOOGLE_API_KEY" },
  ]);
  expect(resolveRoute(storedSettings({ provider: "gemini", default: "m" }), {}, variable)).toMatchObject({
    key: "three",
    keySource: "GEMINI_API_KEY_3",
  });
});

test("M6: an unnamed server gets one key at most", () => {
  const settings = storedSettings({ base_url: "https://other.example/v1", default: "m" });
  expect(resolveRoute(settings, {}, variable).keys).toEqual([{ value: "openai", source: "OPENAI_API_KEY" }]);
});
