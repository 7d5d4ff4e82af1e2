/** The value in a text, or undefined when it is not JSON: what programs print is not to be trusted. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The values that `inspect` prints: without a format both engines print one list, which their formats do not agree on. */
export function parseJsonList(text: string): readonly unknown[] {
  const value = parseJson(text);
  return Array.isArray(value) ? value : [];
}
