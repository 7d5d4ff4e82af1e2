import { type Finding, findingOf } from "./finding.ts";

/**
 * Credentials that are recognised by their own look: a fixed prefix and one run, so that no input makes the
 * pattern backtrack. Every run has a bound, because the engine's stack grows with it.
 */
const SHAPES: readonly { readonly kind: string; readonly pattern: RegExp }[] = [
  { kind: "anthropic-key", pattern: /sk-ant-[\w-]{16,512}/ },
  // A run without `-` and `_` first: style sheets are full of names like `sk-toggleable__label-arrow`.
  {
    kind: "openai-key",
    pattern: /sk-(?:(?:proj|svcacct|admin|or-v1)-[\w-]{16,512}|[A-Za-z0-9]{16,512}[\w-]{0,512})/,
  },
  { kind: "github-token", pattern: /gh[pousr]_[A-Za-z0-9]{20,512}|github_pat_\w{20,512}/ },
  { kind: "gitlab-token", pattern: /glpat-[\w.-]{20,512}/ },
  { kind: "slack-token", pattern: /xox[abeprs]-[A-Za-z0-9-]{10,512}|xapp-[A-Za-z0-9-]{16,512}/ },
  { kind: "google-key", pattern: /AIza[\w-]{30,512}/ },
  { kind: "aws-key-id", pattern: /A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])/ },
  { kind: "stripe-key", pattern: /[sr]k_(?:live|test)_[A-Za-z0-9]{10,512}/ },
  { kind: "huggingface-token", pattern: /hf_[A-Za-z0-9]{20,512}/ },
  { kind: "npm-token", pattern: /npm_[A-Za-z0-9]{30,512}/ },
  { kind: "pypi-token", pattern: /pypi-AgE[\w-]{16,1024}/ },
  { kind: "xai-key", pattern: /xai-[A-Za-z0-9]{20,512}/ },
  { kind: "groq-key", pattern: /gsk_[A-Za-z0-9]{20,512}/ },
  { kind: "tavily-key", pattern: /tvly-[A-Za-z0-9-]{16,512}/ },
  { kind: "sendgrid-key", pattern: /SG\.[\w-]{16,64}\.[\w-]{16,512}/ },
  { kind: "telegram-token", pattern: /(?:(?<=\/)bot)?[0-9]{6,12}:[\w-]{35}(?![\w-])/ },
  { kind: "jwt", pattern: /(?<![_-])eyJ[\w-]{8,4096}\.[\w-]{8,16384}(?:\.[\w-]{0,4096}){0,4}/ },
];

// Where a token may begin: not inside a word, but right behind an escape (`\n`, `%20`, a colour) that ends in a letter.
const TOKEN_START = String.raw`(?<=^|[^A-Za-z0-9]|\\[bfnrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,12}[mK])`;
const ANY_SHAPE = new RegExp(
  `${TOKEN_START}(?:${SHAPES.map(({ pattern }) => `(${pattern.source})`).join("|")})`,
  "g",
);

/** Finds keys and tokens that announce their maker by their first letters. */
export function findVendorKeys(text: string): Finding[] {
  return Array.from(text.matchAll(ANY_SHAPE), ({ 0: whole, index, ...groups }) => {
    const shape = SHAPES.findIndex((_, position) => groups[position + 1] !== undefined);
    const kind = SHAPES[shape]?.kind ?? "key";
    return findingOf(kind, { start: index, end: index + whole.length });
  });
}
