/** Deeper than any legitimate call or document; a much deeper value overflows the stack of a recursive function. */
const MAX_LEVELS = 200;

/** Whether a JSON value is nested too deeply to be traversed recursively without a limit, or serialised. */
export function isTooDeep(value: unknown, level = 0): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (level === MAX_LEVELS) return true;
  for (const key in value) if (isTooDeep((value as Record<string, unknown>)[key], level + 1)) return true;
  return false;
}
