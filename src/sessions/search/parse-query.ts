import { separate } from "./indexed-text.ts";

/** One thing to look for. */
export interface Term {
  readonly text: string;
  /** Whatever begins so counts too. */
  readonly prefix: boolean;
  /** How it joins what stands before it; the first joins nothing. */
  readonly join: "AND" | "OR" | "NOT";
}

const LONGEST_QUERY = 1_000;
const MOST_TERMS = 32;
const OPERATORS: ReadonlySet<string> = new Set(["AND", "OR", "NOT"]);
const WORD_CHARACTER = /[\p{L}\p{N}\p{Co}]/u;
const TRIGRAM = 3;
// A phrase whose end may be missing, with or without a star; or a run of anything else.
const PIECE = /"([^"]*)(?:"(\*?)|$)|[^\s"()]+/gu;

/** What a person typed as terms: all must occur unless OR or NOT says otherwise. Anything is a query, even nothing. */
export function parseQuery(text: string): Term[] {
  const terms: Term[] = [];
  let join: Term["join"] = "AND";
  const plain = text.slice(0, LONGEST_QUERY).replace(/\p{Cc}/gu, " ");
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
    if (terms.length === MOST_TERMS) break;
  }
  return terms;
}

function isOperator(piece: string): piece is Term["join"] {
  return OPERATORS.has(piece);
}

/** The terms for the index of words, or undefined when it cannot find any of them. */
export function wordExpression(terms: readonly Term[]): string | undefined {
  return expression(
    terms.filter((term) => WORD_CHARACTER.test(term.text)),
    ({ text, prefix }) => `${quote(separate(text).trim())}${prefix ? "*" : ""}`,
  );
}

/** The terms as parts of words, for the index of trigrams; undefined when one is too short for it. */
export function partExpression(terms: readonly Term[]): string | undefined {
  if (terms.some(({ text }) => [...text].length < TRIGRAM)) return undefined;
  return expression(terms, ({ text }) => quote(text));
}

/** Evaluated from left to right, as it reads. */
function expression(terms: readonly Term[], render: (term: Term) => string): string | undefined {
  const [first, ...rest] = terms;
  if (first === undefined) return undefined;
  return rest.reduce((left, term) => `(${left} ${term.join} ${render(term)})`, render(first));
}

function quote(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
