import { createHash } from "node:crypto";
import { AppError } from "../../lib/errors.ts";

/** One key of a provider, and the setting or variable that contains it. */
export interface PoolKey {
  readonly value: string;
  readonly source: string;
}

/** The maximum number of keys of a provider. */
export const MAX_KEYS = 20;

/** The variable of key number `number`: NAME, NAME_2, NAME_3 and so on. */
export function numberedVariable(name: string, number: number): string {
  return number === 1 ? name : `${name}_${number}`;
}

/** The variables that may contain keys of a provider, in the order in which the keys are used. */
export function listKeyVariables(names: readonly string[]): string[] {
  return names.flatMap((name) =>
    Array.from({ length: MAX_KEYS }, (_, index) => numberedVariable(name, index + 1)),
  );
}

/** The keys of a provider, each value once. */
export function findPoolKeys(
  names: readonly string[],
  variable: (name: string) => string | undefined,
): PoolKey[] {
  const found = listKeyVariables(names).flatMap((source) => parseKey(variable(source) ?? "", source) ?? []);
  return found.filter(({ value }, index) => found.findIndex((key) => key.value === value) === index);
}

/** Trims a key. Throws if HTTP does not allow it in a header. */
export function parseKey(text: string, source: string): PoolKey | undefined {
  const value = text.trim();
  if (/^[\x20-\x7e]*$/.test(value)) return value === "" ? undefined : { value, source };
  throw new AppError(
    "config-invalid",
    `${source} is not a key: it contains line breaks or non-ASCII characters.`,
    { hint: "Copy the key again, in one line and without quotes or spaces around it." },
  );
}

/** Identifies a key in databases and logs without revealing it. */
export function fingerprintOf(value: string): string {
  return createHash("sha256").update(value).digest("hex").slice(0, 12);
}
