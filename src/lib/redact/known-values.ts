import type { Finding } from "./finding.ts";

/** Shorter values would be found in ordinary words all over the place. */
const MIN_KNOWN_LENGTH = 8;

const BUCKETS = 1 << 16;

/** Finds every occurrence of the given values, plain or encoded, in one walk whatever their number. */
export function createKnownValueFinder(values: readonly string[]): (text: string) => Finding[] {
  const buckets = new Map<number, string[]>();
  for (const form of formsOf(values)) {
    const bucket = bucketAt(form, 0);
    buckets.set(bucket, [...(buckets.get(bucket) ?? []), form]);
  }
  const occupied = new Uint8Array(BUCKETS);
  for (const bucket of buckets.keys()) occupied[bucket] = 1;

  return (text) => {
    const findings: Finding[] = [];
    if (buckets.size === 0) return findings;
    // Every start is tried, also inside an earlier find: of two overlapping secrets neither may leave a rest.
    for (let start = 0; start <= text.length - MIN_KNOWN_LENGTH; start++) {
      const bucket = bucketAt(text, start);
      if (occupied[bucket] === 0) continue;
      const form = buckets.get(bucket)?.find((candidate) => text.startsWith(candidate, start));
      if (form !== undefined) {
        const span = { start, end: start + form.length };
        findings.push({ ...span, kind: "known-secret", evidence: span });
      }
    }
    return findings;
  };
}

function bucketAt(text: string, at: number): number {
  const first = text.charCodeAt(at) + 31 * text.charCodeAt(at + 1);
  return (first + 961 * text.charCodeAt(at + 2) + 29_791 * text.charCodeAt(at + 3)) & (BUCKETS - 1);
}

/** The values and their encodings, longest first, so that the first that fits hides the most. */
function formsOf(values: readonly string[]): string[] {
  const forms = values.filter((value) => value.length >= MIN_KNOWN_LENGTH).flatMap(encodingsOf);
  return [...new Set(forms)]
    .filter((form) => form.length >= MIN_KNOWN_LENGTH)
    .sort((a, b) => b.length - a.length);
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
    escapeJson(json), // JSON that carries JSON, as logs do
    ...percents,
    ...percents.map((text) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
    ...base64,
    ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

function escapeJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** What base64 makes of `bytes` inside something longer (`user:secret`): one text for each of three alignments. */
function base64Cores(bytes: Buffer): string[] {
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    const firstOwn = Math.ceil((offset * 8) / 6); // the characters before it mix in bits of what stands in front
    const endOfOwn = Math.floor(((offset + bytes.length) * 8) / 6);
    return encoded.slice(firstOwn, endOfOwn);
  });
}
