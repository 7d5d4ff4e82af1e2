import type { SecretMatch } from "./secret-match.ts";

/** Shorter values would match ordinary words. */
const MIN_KNOWN_LENGTH = 8;

/** Finds every occurrence of the given values, plain or encoded. */
export function createKnownValueFinder(values: readonly string[]): (text: string) => SecretMatch[] {
  const forms = formsOf(values);
  return (text) => {
    const findings: SecretMatch[] = [];
    // Overlapping occurrences count too: no part of two overlapping secrets may remain.
    for (const form of forms)
      for (let start = text.indexOf(form); start >= 0; start = text.indexOf(form, start + 1)) {
        const span = { start, end: start + form.length };
        findings.push({ ...span, kind: "known-secret", evidence: span });
      }
    return findings;
  };
}

function formsOf(values: readonly string[]): string[] {
  const forms = values.filter((value) => value.length >= MIN_KNOWN_LENGTH).flatMap(encodingsOf);
  return [...new Set(forms)].filter((form) => form.length >= MIN_KNOWN_LENGTH);
}

function encodingsOf(value: string): string[] {
  const bytes = Buffer.from(value, "utf8");
  const json = escapeJson(value);
  const wellFormed = bytes.toString("utf8"); // the encoders below throw on a lone surrogate
  const form = new URLSearchParams([["", wellFormed]]).toString().slice(1);
  const percents = [encodeURIComponent(wellFormed), form, form.replaceAll("+", "%20")];
  const base64 = [bytes.toString("base64"), bytes.toString("base64url"), ...base64Cores(bytes)];
  return [
    value,
    json,
    escapeJson(json), // JSON inside JSON, as in logs
    ...percents,
    ...percents.map((text) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
    ...base64,
    ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

function escapeJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** The base64 text of `bytes` inside a longer value (`user:secret`), for each of the three alignments. */
function base64Cores(bytes: Buffer): string[] {
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    const firstOwn = Math.ceil((offset * 8) / 6); // earlier characters contain bits of the preceding bytes
    const endOfOwn = Math.floor(((offset + bytes.length) * 8) / 6);
    return encoded.slice(firstOwn, endOfOwn);
  });
}
