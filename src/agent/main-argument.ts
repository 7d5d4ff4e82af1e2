/** The argument that says most about a call: its command, path or pattern. */
export function mainArgument(input: string): string {
  const value = parseObject(input);
  const main = ["command", "path", "pattern", "query", "action", "question"]
    .map((name) => value[name])
    .find((one) => typeof one === "string");
  return typeof main === "string" ? main : input;
}

/** The object that a text of JSON describes; empty for every other text. */
export function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {}; // models write invalid JSON, and most results are plain text
  }
}
