import type { Span } from "./mark.ts";

/** The query and fragment of a web address, which the user must be able to open as they stand. */
export interface WebQuery extends Span {
  /** Where `https://` begins and ends: without it nobody would know this for an address. */
  readonly scheme: Span;
}

// A backslash ends an address unless JSON put it there: behind it stands `n` of a newline and other text.
const ADDRESS = /(https?:\\{0,2}\/\\{0,2}\/)(?:[^\s"'<>`\\]|\\\/|\\u0026)*/gi;

/** Finds the part from `?` or `#` on of every http and https address. */
export function findWebQueries(text: string): WebQuery[] {
  const queries: WebQuery[] = [];
  for (const { 0: address, 1: scheme = "", index } of text.matchAll(ADDRESS)) {
    const query = address.search(/[?#]/);
    if (query < 0) continue;
    queries.push({
      start: index + query,
      end: index + address.length,
      scheme: { start: index, end: index + scheme.length },
    });
  }
  return queries;
}
