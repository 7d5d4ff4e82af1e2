import { UNKNOWN } from "../scope.ts";

const MAX_VALUE = 512;
const MAX_PATTERN = 64;

/** `${value#pattern}`, `##`, `%` and `%%`: removes the shortest or longest match at the start or end. */
export function removePart(value: string, operator: string, pattern: string): string {
  const matcher = globMatcher(pattern, value);
  if (!matcher) return UNKNOWN;
  const whole = new RegExp(`^(?:${matcher})$`, "s");
  const atStart = operator.startsWith("#");
  const lengths = Array.from({ length: value.length + 1 }, (_, length) => length);
  if (operator.length > 1) lengths.reverse();
  for (const length of lengths) {
    const part = atStart ? value.slice(0, length) : value.slice(value.length - length);
    if (whole.test(part)) return atStart ? value.slice(length) : value.slice(0, value.length - length);
  }
  return value;
}

/** `${value/pattern/replacement}` and its variants with `//`, `/#` and `/%`. */
export function replacePart(value: string, operator: string, pattern: string, replacement: string): string {
  const matcher = globMatcher(pattern, value);
  if (!matcher) return UNKNOWN;
  const anchored = operator === "/#" ? `^(?:${matcher})` : operator === "/%" ? `(?:${matcher})$` : matcher;
  return value.replace(new RegExp(anchored, operator === "//" ? "gs" : "s"), () => replacement);
}

/** `${value:offset:length}` with plain numbers. */
export function sliceValue(value: string, offset: string, length: string | undefined): string {
  if (!/^\s*-?\d{1,6}\s*$/.test(offset) || !/^\s*-?\d{1,6}\s*$/.test(length ?? "0")) return UNKNOWN;
  const from = Number(offset) < 0 ? Math.max(value.length + Number(offset), 0) : Number(offset);
  if (length === undefined) return value.slice(from);
  const count = Number(length);
  return count < 0 ? value.slice(from, value.length + count) : value.slice(from, from + count);
}

/** `${value,,}`, `,`, `^` and `^^`. */
export function changeCase(value: string, operator: string): string {
  const change = (text: string) => (operator.startsWith("^") ? text.toUpperCase() : text.toLowerCase());
  return operator.length > 1 ? change(value) : change(value.slice(0, 1)) + value.slice(1);
}

/** Whether a name matches a glob pattern; false for long or complex patterns. */
export function matchesGlob(name: string, pattern: string): boolean {
  const matcher = globMatcher(pattern, name);
  return matcher !== undefined && new RegExp(`^(?:${matcher})$`, "s").test(name);
}

/** A regular expression for a glob pattern; undefined if it is invalid, could take long, or if a text is unknown. */
function globMatcher(pattern: string, value: string): string | undefined {
  if (pattern.length > MAX_PATTERN || value.length > MAX_VALUE || pattern.split("*").length > 3)
    return undefined;
  if (pattern.includes(UNKNOWN) || value.includes(UNKNOWN) || pattern === "") return undefined;
  const matcher = pattern.replace(/\[([!^]?)([^\]]+)\]|[\s\S]/g, (part, negated, inside) => {
    if (inside !== undefined && !inside.includes("["))
      return `[${negated ? "^" : ""}${inside.replace(/[\\\]^]/g, "\\$&")}]`;
    if (part === "*") return ".*";
    return part === "?" ? "." : part.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  });
  try {
    new RegExp(matcher);
    return matcher;
  } catch {
    return undefined; // an invalid range, such as `[z-a]`
  }
}
