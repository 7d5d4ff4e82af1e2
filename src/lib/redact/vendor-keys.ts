import { createSecretMatch, type SecretMatch } from "./secret-match.ts";

/**
 * Credentials with a recognisable format: a fixed prefix and bounded runs of key characters, so that no input makes the
 * pattern backtrack much. The bounds also limit the stack of the regular expression engine, which grows with a run.
 */
const FORMATS: readonly { readonly kind: string; readonly pattern: RegExp }[] = [
  { kind: "anthropic-key", pattern: /sk-ant-[\w-]{16,512}/ },
  // The run must start without `-` and `_`: style sheets contain names like `sk-toggleable__label-arrow`.
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

/** The kinds that ordinary links may contain: magic links (JWT) and pre-signed URLs (the id of an AWS key). */
const LINK_KINDS: ReadonlySet<string> = new Set(["jwt", "aws-key-id"]);
const LONG_LIVED = new Set(FORMATS.map(({ kind }) => kind).filter((kind) => !LINK_KINDS.has(kind)));

/** Whether a kind of key is valid until it is revoked. An ordinary link never needs to contain such a key. */
export function isLongLivedKey(kind: string): boolean {
  return LONG_LIVED.has(kind);
}

// A token starts outside a word, or directly after an escape (`\n`, `%20`, a colour) that ends in a letter or digit.
const TOKEN_START = String.raw`(?<=^|[^A-Za-z0-9]|\\[bfnrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,12}[mK])`;
const ANY_FORMAT = new RegExp(
  `${TOKEN_START}(?:${FORMATS.map(({ pattern }) => `(${pattern.source})`).join("|")})`,
  "g",
);

/** Every format contains such a run; the shortest is the beginning of a JWT. */
const LONG_RUN = /[\w-]{11}/;

/** Finds keys and tokens with the prefix of a known vendor. */
export function findVendorKeys(text: string): SecretMatch[] {
  if (!LONG_RUN.test(text)) return [];
  return Array.from(text.matchAll(ANY_FORMAT), ({ 0: matched, index, ...groups }) => {
    const format = FORMATS.findIndex((_, position) => groups[position + 1] !== undefined);
    const kind = FORMATS[format]?.kind ?? "key";
    return createSecretMatch(kind, { start: index, end: index + matched.length });
  });
}
