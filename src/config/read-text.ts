import type { ConfigKey } from "./keys.ts";

const TRUE = new Set(["true", "1", "yes", "on"]);
const FALSE = new Set(["false", "0", "no", "off"]);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

export type TextReading = { readonly value: unknown } | { readonly problem: string };

/** Reads the text of a variable or a flag by the key's own type; what does not fit is refused, never guessed. */
export function readText(key: ConfigKey, text: string): TextReading {
  if (key.type === "string") return { value: text };
  const trimmed = text.trim();
  if (key.nullable && ["", "null", "none"].includes(trimmed.toLowerCase())) return { value: null };
  if (trimmed === "") return { problem: `is empty; expected ${expectation(key)}` };
  switch (key.type) {
    case "enum":
      return { value: trimmed };
    case "boolean":
      return readBoolean(trimmed) ?? { problem: `expected ${expectation(key)}` };
    case "integer":
    case "number":
      return NUMBER.test(trimmed) ? { value: Number(trimmed) } : { problem: `expected ${expectation(key)}` };
    case "list":
    case "map":
    case "integer|map":
      return readJson(key, trimmed);
  }
}

/** The words people use for yes and no, or undefined for any other. */
export function readBoolean(text: string): { readonly value: boolean } | undefined {
  const word = text.toLowerCase();
  if (TRUE.has(word)) return { value: true };
  return FALSE.has(word) ? { value: false } : undefined;
}

/** What a person may write for this key, in words. */
export function expectation(key: ConfigKey): string {
  const words: Record<ConfigKey["type"], string> = {
    boolean: "true or false (also 1/0, yes/no, on/off)",
    integer: "a whole number",
    number: "a number",
    string: "text",
    enum: `one of ${key.values?.join(", ")}`,
    list: 'a JSON list such as ["a","b"]',
    map: 'a JSON map such as {"name":"value"}',
    "integer|map": 'a whole number or a JSON map such as {"name":1}',
  };
  return key.nullable ? `${words[key.type]}, or null` : words[key.type];
}

function readJson(key: ConfigKey, text: string): TextReading {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { problem: `expected ${expectation(key)}` };
  }
}
