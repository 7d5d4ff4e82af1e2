import { headOf, tailOf } from "../../lib/text/shorten.ts";
import type { Term } from "./parse-query.ts";

export interface Marks {
  readonly open: string;
  readonly close: string;
}

const SNIPPET_LENGTH = 200;
const LEAD = 60;

/** The part of a text around its first match, with all matches marked; the start of the text if nothing matches. */
export function createSnippet(text: string, terms: readonly Term[], marks: Marks): string {
  const folded = fold(text);
  const wanted = terms.filter((term) => term.join !== "NOT").flatMap((term) => wordsOf(term.text));
  const first = wanted.reduce((least, word) => {
    const at = folded.text.indexOf(word);
    return at === -1 ? least : Math.min(least, at);
  }, Number.POSITIVE_INFINITY);
  const at = Number.isFinite(first) ? (folded.origin(first) ?? 0) : 0;
  const start = Math.max(0, Math.min(at - LEAD, text.length - SNIPPET_LENGTH));
  const part = headOf(tailOf(text, text.length - start), SNIPPET_LENGTH);
  const marked = collapseWhitespace(mark(part, wanted, marks));
  const more = start + SNIPPET_LENGTH < text.length;
  return `${start > 0 ? "…" : ""}${marked}${more ? "…" : ""}`;
}

export function excerptOf(text: string, length: number): string {
  if (text.length <= length) return collapseWhitespace(text);
  return `${headOf(collapseWhitespace(headOf(text, length + 1)), length - 1)}…`;
}

/** The index may split a term into words (`well-known`); each word is marked as well. */
function wordsOf(term: string): string[] {
  const whole = fold(term).text;
  return [...new Set([whole, ...whole.split(/[^\p{L}\p{N}]+/u)])].filter((word) => word !== "");
}

function mark(text: string, words: readonly string[], { open, close }: Marks): string {
  const folded = fold(text);
  let result = "";
  let shown = 0;
  for (let at = 0; at < folded.text.length; ) {
    const word = words.find((candidate) => folded.text.startsWith(candidate, at));
    if (word === undefined) {
      at++;
      continue;
    }
    const from = folded.origin(at) ?? text.length;
    const to = folded.origin(at + word.length) ?? text.length;
    result += `${text.slice(shown, from)}${open}${text.slice(from, to)}${close}`;
    shown = to;
    at += word.length;
  }
  return result + text.slice(shown);
}

interface FoldedText {
  readonly text: string;
  /** The index of a folded character in the original text; undefined after the last character. */
  origin(at: number): number | undefined;
}

/** Folds text as the index does: without case and diacritics. */
function fold(text: string): FoldedText {
  // Fast path: nearly all text is ASCII, which takes a fiftieth of the time.
  if (/^[\0-\x7f]*$/.test(text)) {
    return { text: text.toLowerCase(), origin: (at) => (at < text.length ? at : undefined) };
  }
  const origins: number[] = [];
  let folded = "";
  let at = 0;
  for (const character of text) {
    const plain = character.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
    for (let index = 0; index < plain.length; index++) origins.push(at);
    folded += plain;
    at += character.length;
  }
  return { text: folded, origin: (at) => origins[at] };
}

/** Collapses whitespace and control characters into single spaces, as snippets do. */
export function collapseWhitespace(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, " ").trim();
}
