import { findAssignments } from "./assignments.ts";
import { findAuthHeaders } from "./auth-headers.ts";
import type { Finding } from "./finding.ts";
import { createKnownValueFinder } from "./known-values.ts";
import { findMarks, redactionMark, type Span } from "./mark.ts";
import { findPrivateKeys } from "./private-keys.ts";
import { firstEndingAfter, overlapsAny } from "./spans.ts";
import { findUrlPasswords } from "./url-passwords.ts";
import { findVendorKeys } from "./vendor-keys.ts";
import { findWebQueries, type WebQuery } from "./web-queries.ts";

/** Hides secrets in text on its way to a model or a log; never meant for what is executed or written to disk. */
export interface Redactor {
  /** The text with a mark in place of each secret; takes time in proportion to its length, whatever it holds. */
  redact(text: string, options?: RedactOptions): string;
}

export interface RedactOptions {
  /** The text is source code, where `token = …` and `"password": …` are programming and no credentials. */
  readonly code?: boolean;
}

const SHORTEST = 8; // no finder finds anything in less, and most texts of a log are short

/** A redactor that knows the usual looks of secrets and, in any encoding, the given values of 8 characters and more. */
export function createRedactor({ secrets }: { readonly secrets: readonly string[] }): Redactor {
  const findKnownValues = createKnownValueFinder(secrets);
  return {
    redact(text, { code = false } = {}) {
      if (text.length < SHORTEST) return text;
      // Every finder sees the text as it came, so none is misled by what another one replaced.
      const byLook = [
        ...findVendorKeys(text),
        ...findAuthHeaders(text),
        ...findUrlPasswords(text),
        ...(code ? [] : findAssignments(text)),
      ];
      const surely = [...findKnownValues(text), ...findPrivateKeys(text)];
      if (surely.length + byLook.length === 0) return text;
      const queries = findWebQueries(text);
      const findings = [...surely, ...byLook.filter((finding) => !overlapsAny(queries, startOf(finding)))];
      return replace(text, widen(merge(awayFrom(findMarks(text), findings)), queries));
    },
  };
}

interface Secret extends Span {
  readonly kind: string;
}

function startOf({ start }: Span): Span {
  return { start, end: start + 1 };
}

/** Drops what touches a mark: it was judged when the mark was made, and redacting twice must change nothing. */
function awayFrom(marks: readonly Span[], findings: readonly Finding[]): Finding[] {
  return findings.filter(({ evidence }) => !overlapsAny(marks, evidence));
}

/** One secret for all that overlap, so that of neither a part stays readable. */
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
    const name = end - start > widest ? kind : last.kind; // the first finder wins among equals: it knows best
    widest = Math.max(widest, end - start);
    merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, end), kind: name };
  }
  return merged;
}

/**
 * Lets a secret that swallows the `https://` or the `?` of an address take the rest of it along: nobody
 * would know it for the query of an address any more.
 */
function widen(secrets: readonly Secret[], queries: readonly WebQuery[]): Secret[] {
  return merge(
    secrets.map((secret) => {
      let { end } = secret;
      for (let index = firstEndingAfter(queries, secret.start); index < queries.length; index++) {
        const query = queries[index];
        if (query === undefined || query.scheme.start >= secret.end) break;
        const hidesScheme = secret.start < query.scheme.end;
        const hidesMark = secret.start <= query.start && secret.end > query.start;
        if (hidesScheme || hidesMark) end = Math.max(end, query.end);
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
