import { separateCharacters } from "./indexed-text.ts";

export interface Term {
  readonly text: string;
  /** Whether words that start with `text` match too. */
  readonly prefix: boolean;
  /** The operator before this term; ignored for the first term. */
  readonly join: "AND" | "OR" | "NOT";
}

const MAX_QUERY_LENGTH = 1_000;
const MAX_TERMS = 32;
const OPERATORS: ReadonlySet<string> = new Set(["AND", "OR", "NOT"]);
const WORD_CHARACTER = /[\p{L}\p{N}\p{Co}]/u;
const TRIGRAM = 3;
// A quoted phrase, possibly unterminated or followed by a star; or a run of other characters.
const PIECE = /"([^"]*)(?:"(\*?)|$)|[^\s"()]+/gu;

/** Parses user input into terms, joined by AND unless OR or NOT is given. Any text is a valid query, even an empty one. */
export function parseQuery(text: string): Term[] {
  const terms: Term[] = [];
  let join: Term["join"] = "AND";
  const plain = text.slice(0, MAX_QUERY_LENGTH).replace(/\p{Cc}/gu, " ");
  for (const [piece, phrase, star] of plain.matchAll(PIECE)) {
    if (isOperator(piece)) {
      join = piece;
      continue;
    }
    const term = (phrase ?? piece).replace(/^\*+|\*+$/g, "").trim();
    if (term === "") continue;
    const prefix = phrase === undefined ? piece.endsWith("*") : star === "*";
    terms.push({ text: term, prefix, join: terms.length === 0 ? "AND" : join });
    join = "AND";
    if (terms.length === MAX_TERMS) break;
  }
  return terms;
}

function isOperator(piece: string): piece is Term["join"] {
  return OPERATORS.has(piece);
}

/** The FTS5 expression for the word index; undefined if no term has a letter or digit. */
export function createWordExpression(terms: readonly Term[]): string | undefined {
  return expression(
    terms.filter((term) => WORD_CHARACTER.test(term.text)),
    ({ text, prefix }) => `${quote(separateCharacters(text).trim())}${prefix ? "*" : ""}`,
  );
}

/** The FTS5 expression for the trigram index, which finds parts of words; undefined if a term is too short. */
export function createTrigramExpression(terms: readonly Term[]): string | undefined {
  if (terms.some(({ text }) => [...text].length < TRIGRAM)) return undefined;
  return expression(terms, ({ text }) => quote(text));
}

/** Parenthesises the terms from left to right. */
function expression(terms: readonly Term[], render: (term: Term) => string): string | undefined {
  const [first, ...rest] = terms;
  if (first === undefined) return undefined;
  return rest.reduce((left, term) => `(${left} ${term.join} ${render(term)})`, render(first));
}

function quote(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
