const LONGEST_NAME = 64;

/** Converts a tool name to characters that servers accept, because a model may have called a tool with an invalid name. */
export function sendableName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, LONGEST_NAME) || "unnamed";
}

// Matches a surrogate pair, a lone surrogate, or any other escape, because a backslash may be escaped itself.
const ESCAPE =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

/** Replaces lone surrogates in JSON, which servers refuse, with U+FFFD. */
export function sendableJson(json: string): string {
  if (!/\\ud[89a-f]/i.test(json)) return json;
  return json.replace(ESCAPE, (match: string, half: string | undefined) =>
    half === undefined ? match : "\\ufffd",
  );
}
