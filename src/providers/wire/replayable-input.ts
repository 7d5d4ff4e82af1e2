/** The input of a call as an object, because servers refuse a history in which it is none. */
export function replayableInput(input: string): object {
  return parseObject(input) ?? { unparsable_input: input };
}

/** The object that a text is the JSON of, or undefined. */
export function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
