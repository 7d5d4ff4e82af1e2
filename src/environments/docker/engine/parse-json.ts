/** Parses JSON; undefined for invalid text, because the output of programs is not reliable. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Parses the output of `inspect`: a list in both engines. `--format` is not used, because its syntax differs. */
export function parseJsonList(text: string): readonly unknown[] {
  const value = parseJson(text);
  return Array.isArray(value) ? value : [];
}
