const LONGEST_NAME = 64;

/** A tool's name in the letters that servers take back: a model may have called one that cannot be. */
export function sendableName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, LONGEST_NAME) || "unnamed";
}

// A whole pair, half of one, any other escape: each is read from its beginning, because a backslash may be escaped itself.
const ESCAPE =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

/** JSON without half surrogate pairs, which servers refuse wherever they stand; each becomes U+FFFD. */
export function sendableJson(json: string): string {
  if (!/\\ud[89a-f]/i.test(json)) return json;
  return json.replace(ESCAPE, (match: string, half: string | undefined) =>
    half === undefined ? match : "\\ufffd",
  );
}
