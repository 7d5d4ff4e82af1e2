import type { Span } from "./mark.ts";

/** The query and fragment of a web address, which the user must be able to open as they stand. */
export interface WebQuery extends Span {
  /** Where `https://` begins and ends: without it nobody would know this for an address. */
  readonly scheme: Span;
}

const SCHEME = /https?:\\{0,2}\/\\{0,2}\//gi;
// A backslash ends an address unless JSON put it there: behind it stands `n` of a newline and other text.
const END = /[\s"'<>`]|\\(?!\/|u0026)/;

/** Finds the part from `?` or `#` on of every http and https address. */
export function findWebQueries(text: string): WebQuery[] {
  const queries: WebQuery[] = [];
  let consumed = 0;
  for (const { 0: scheme, index } of text.matchAll(SCHEME)) {
    if (index < consumed) continue; // an address in the query of another
    const host = index + scheme.length;
    const length = text.slice(host).search(END);
    consumed = length < 0 ? text.length : host + length;
    const query = text.slice(host, consumed).search(/[?#]/);
    if (query < 0) continue;
    queries.push({ start: host + query, end: consumed, scheme: { start: index, end: host } });
  }
  return queries;
}
