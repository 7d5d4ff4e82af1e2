/** More than any call or document has that somebody meant; what is far deeper overflows the stack of whoever walks it. */
const MOST_LEVELS = 200;

/** Whether a value of JSON is nested so deeply that it must not be walked recursively, nor turned into a text. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) return true;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return false;
}
