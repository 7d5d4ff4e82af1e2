import { isReference, isTrivial } from "./non-secret-values.ts";
import { redactionMark } from "./redaction-mark.ts";
import { isSecretName } from "./secret-names.ts";

const HEADER = /^(?:(?:proxy-)?authorization|(?:set-)?cookie)$/i;
const MIN_LENGTH = 4;
const MIN_SECRET_NUMBER = 10_000_000; // a number with fewer digits is shorter than any known secret

/** Redacts every string of a JSON value, including keys, and replaces the whole value of a secret name. */
export function redactJson(value: unknown, redact: (text: string) => string, name = ""): unknown {
  if (typeof value === "string")
    return isSecretField(name, value) ? redactionMark("secret-value") : redact(value);
  if (typeof value === "number" && Math.abs(value) >= MIN_SECRET_NUMBER) {
    const redacted = redact(String(value));
    return redacted === String(value) ? value : redacted;
  }
  if (Array.isArray(value)) return value.map((item) => redactJson(item, redact, name));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [redact(key), redactJson(item, redact, key)]),
  );
}

function isSecretField(name: string, value: string): boolean {
  if (value.length < MIN_LENGTH || isReference(value) || isTrivial(value)) return false;
  return isSecretName(name) || HEADER.test(name);
}
