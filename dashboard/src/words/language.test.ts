import { expect, test } from "vitest";
import { findLanguage } from "./language.ts";

test("the first known language of the browser wins, and English without one", () => {
  expect(findLanguage(["de-AT", "en"])).toBe("de");
  expect(findLanguage(["fr", "en-GB", "de"])).toBe("en");
  expect(findLanguage(["fr-CH"])).toBe("en");
  expect(findLanguage([])).toBe("en");
});
