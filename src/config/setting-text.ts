import type { ConfigKey } from "./config-keys.ts";

const TRUE = new Set(["true", "1", "yes", "on"]);
const FALSE = new Set(["false", "0", "no", "off"]);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/** Whether the text is one of the words for true and false. */
export function isBooleanText(text: string): boolean {
  return parseBoolean(text.trim()) !== undefined;
}

export type ParsedText = { readonly value: unknown } | { readonly problem: string };

/** Parses the text of a variable or flag by the type of the key, without guessing. */
export function parseSettingText(key: ConfigKey, text: string): ParsedText {
  if (key.type === "string") return { value: text };
  const trimmed = text.trim();
  if (key.nullable && ["", "null", "none"].includes(trimmed.toLowerCase())) return { value: null };
  if (trimmed === "") return { problem: `is empty; expected ${describeExpectedText(key)}` };
  return parseTyped(key.type, trimmed) ?? { problem: `expected ${describeExpectedText(key)}` };
}

function parseTyped(type: ConfigKey["type"], text: string): { readonly value: unknown } | undefined {
  if (type === "enum") return { value: text };
  if (type === "boolean") return parseBoolean(text);
  if (type === "integer" || type === "number") return NUMBER.test(text) ? { value: Number(text) } : undefined;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Parses the usual words for true and false; undefined for any other text. */
export function parseBoolean(text: string): { readonly value: boolean } | undefined {
  const word = text.toLowerCase();
  if (TRUE.has(word)) return { value: true };
  return FALSE.has(word) ? { value: false } : undefined;
}

/** Describes the accepted text for a key. */
export function describeExpectedText(key: ConfigKey): string {
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
