import { findAssignments } from "./assignments.ts";
import { findAuthHeaders } from "./auth-headers.ts";
import { createKnownValueFinder } from "./known-values.ts";
import { findPrivateKeys } from "./private-keys.ts";
import { findMarks, redactionMark } from "./redaction-mark.ts";
import type { SecretMatch, Span } from "./secret-match.ts";
import { findUrlPasswords } from "./url-passwords.ts";
import { findVendorKeys, isLongLivedKey } from "./vendor-keys.ts";

/** Hides secrets in text for a model or a log. Not for text that is executed or written to the user's files. */
export interface Redactor {
  /** Replaces each secret with a mark, in time proportional to the length of the text. */
  redact(text: string, options?: RedactOptions): string;
  /** Replaces only the secrets that are known by their value. */
  redactKnown(text: string): string;
}

export interface RedactOptions {
  /** The text is source code, where only a quoted literal is a credential, as in `password = "…"`. */
  readonly code?: boolean;
}

const MIN_LENGTH = 8; // no finder matches a shorter text, and most texts of a log are short

/** Creates a redactor for common secret formats and, in any encoding, for the given values of at least 8 characters. */
export function createRedactor({ secrets }: { readonly secrets: readonly string[] }): Redactor {
  const findKnownValues = createKnownValueFinder(secrets);
  return {
    redactKnown: (text) => replace(text, merge(findKnownValues(text))),
    redact(text, { code = false } = {}) {
      if (text.length < MIN_LENGTH) return text;
      // Every finder gets the original text, so that no finder is misled by the replacements of another.
      const byFormat = findVendorKeys(text);
      // Headers, addresses and assignments all need one of these, which most commands and sentences lack.
      if (text.includes(":") || text.includes("="))
        byFormat.push(
          ...findAuthHeaders(text),
          ...findUrlPasswords(text),
          ...findAssignments(text, { literalsOnly: code }),
        );
      const certain = [...findKnownValues(text), ...findPrivateKeys(text)];
      if (certain.length + byFormat.length === 0) return text;
      const queries = findWebQueries(text);
      const findings = [
        ...certain,
        ...byFormat.filter(
          (finding) => isLongLivedKey(finding.kind) || !overlapsAny(queries, startOf(finding)),
        ),
      ];
      return replace(text, extendOverQueries(merge(withoutMarked(findMarks(text), findings)), queries));
    },
  };
}

interface Secret extends Span {
  readonly kind: string;
}

function startOf({ start }: Span): Span {
  return { start, end: start + 1 };
}

/** Drops findings whose evidence touches a mark: redacting twice must not change the text again. */
function withoutMarked(marks: readonly Span[], findings: readonly SecretMatch[]): SecretMatch[] {
  return findings.filter(({ evidence }) => !overlapsAny(marks, evidence));
}

/** Merges overlapping secrets, so that no part of any of them stays readable. */
function merge(findings: readonly Secret[]): Secret[] {
  const merged: Secret[] = [];
  let widest = 0;
  for (const { start, end, kind } of findings.toSorted((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last === undefined || start >= last.end) {
      merged.push({ start, end, kind });
      widest = end - start;
      continue;
    }
    const name = end - start > widest ? kind : last.kind; // for equal length the first finder wins, because it is the most specific
    widest = Math.max(widest, end - start);
    merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, end), kind: name };
  }
  return merged;
}

/**
 * Extends a secret that covers the `https://` or the `?` of a URL to the end of the URL: the rest would no longer be recognised
 * as its query.
 */
function extendOverQueries(secrets: readonly Secret[], queries: readonly WebQuery[]): Secret[] {
  return merge(
    secrets.map((secret) => {
      let { end } = secret;
      for (let index = firstEndingAfter(queries, secret.start); index < queries.length; index++) {
        const query = queries[index];
        if (query === undefined || query.scheme.start >= secret.end) break;
        const hidesScheme = secret.start < query.scheme.end;
        const hidesQuestionMark = secret.start <= query.start && secret.end > query.start;
        if (hidesScheme || hidesQuestionMark) end = Math.max(end, query.end);
      }
      return { ...secret, end };
    }),
  );
}

function replace(text: string, secrets: readonly Secret[]): string {
  const parts: string[] = [];
  let done = 0;
  for (const { start, end, kind } of secrets) {
    parts.push(text.slice(done, start), redactionMark(kind));
    done = end;
  }
  parts.push(text.slice(done));
  return parts.join("");
}

/** The index of the first of the sorted, disjoint `spans` that ends after `position`. */
function firstEndingAfter(spans: readonly Span[], position: number): number {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((spans[middle]?.end ?? 0) > position) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Whether one of the sorted, disjoint `spans` overlaps the given span. */
function overlapsAny(spans: readonly Span[], { start, end }: Span): boolean {
  const candidate = spans[firstEndingAfter(spans, start)];
  return candidate !== undefined && candidate.start < end;
}

/**
 * The query and fragment of a URL. They stay unchanged, because the user must be able to open the URL; only known secrets and
 * the long-lived keys of vendors are hidden.
 */
interface WebQuery extends Span {
  /** The span of `https://`: without the scheme the text is not recognised as a URL. */
  readonly scheme: Span;
}

const SCHEME = /https?:\\{0,2}\/\\{0,2}\//gi;
// A backslash ends a URL unless it is a JSON escape inside the URL: usually it starts an escaped newline.
const END = /[\s"'<>`]|\\(?!\/|u0026)/;

/** Finds the part after `?` or `#` of every http and https URL. */
function findWebQueries(text: string): WebQuery[] {
  const queries: WebQuery[] = [];
  let consumed = 0;
  for (const { 0: scheme, index } of text.matchAll(SCHEME)) {
    if (index < consumed) continue; // a URL inside the query of another URL
    const host = index + scheme.length;
    const length = text.slice(host).search(END);
    consumed = length < 0 ? text.length : host + length;
    const query = text.slice(host, consumed).search(/[?#]/);
    if (query < 0) continue;
    queries.push({ start: host + query, end: consumed, scheme: { start: index, end: host } });
  }
  return queries;
}
