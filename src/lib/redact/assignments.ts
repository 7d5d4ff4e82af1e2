import { isExpression, isReference, isTrivial } from "./non-secret-values.ts";
import { endOfQuoted, endOfWord, findOpener, type Opener, trimPunctuation } from "./quoted-text.ts";
import { createSecretMatch, type SecretMatch, type Span } from "./secret-match.ts";
import { isSecretName } from "./secret-names.ts";

// The name is matched as one run, so that each run is tried once. A run of more than 80 characters is not a name.
const ASSIGNMENT = /(?<![\w.-])([\w.-]{3,80})(\\{0,3}["']\]?)?([ \t]{0,8})(=>|:=|=(?!=)|:(?!:))([ \t]{0,8})/g;
const MIN_LENGTH = 4;
const LOOKAHEAD = 96; // limit for inspecting a value that may be rejected; without it the running time would be quadratic
/** The number of characters after a value that the finding depends on. */
const TRAILING_CONTEXT = 3;

/** The left side of an assignment. */
interface Target {
  readonly name: string;
  readonly lead: string;
  /** The quote that closes the name, as in JSON. */
  readonly closer: string;
  readonly operator: string;
  /** `NAME=value` without spaces, as in a shell. */
  readonly isTight: boolean;
  readonly isSpaced: boolean;
}

/**
 * Finds the values of secret names in `NAME=value`, YAML `name: value` and JSON `"name": "value"`. With `literalsOnly`,
 * for source code, only quoted values that look like a credential.
 */
export function findAssignments(
  text: string,
  { literalsOnly }: { readonly literalsOnly: boolean },
): SecretMatch[] {
  const findings: SecretMatch[] = [];
  let consumed = 0;
  for (const match of text.matchAll(ASSIGNMENT)) {
    const { 0: matched, 1: run = "", 2: closer = "", 3: before, 4: operator = "", 5: after, index } = match;
    const lead = text.charAt(index - 1);
    // In JSON text a line starts after `\n`, and the letter of that escape is not part of the name.
    const name = lead === "\\" && /^[nrt]/.test(run) ? run.slice(1) : run;
    if (index < consumed || !isSecretName(name)) continue;
    const isTight = operator === "=" && before === "" && after === "";
    const target: Target = { name, lead, closer, operator, isTight, isSpaced: after !== "" };
    const at = index + matched.length;
    const opener = findOpener(text, at);
    if (literalsOnly && opener === undefined) continue;
    const value = opener === undefined ? findBare(text, at, target) : findQuoted(text, opener, target);
    if (value === undefined || (literalsOnly && !isCredentialLiteral(text, value, name))) continue;
    findings.push(
      createSecretMatch("secret-value", value, index, endOfWord(text, value.end) + TRAILING_CONTEXT),
    );
    consumed = value.end;
  }
  return findings;
}

function findQuoted(
  text: string,
  opener: Opener,
  { lead, closer, operator, isSpaced }: Target,
): Span | undefined {
  // In `"password:", password` the quote closes a string instead of opening one.
  if (operator === ":" && closer === "" && !isSpaced && !/[{,(]/.test(lead)) return undefined;
  const { end: start } = opener;
  const head = text.slice(start, start + LOOKAHEAD);
  if (isReference(head) || isTrivial(head) || isAfterString(head)) return undefined;
  if (opener.quote === "`" && head.includes("${")) return undefined;
  const end = endOfQuoted(text, opener);
  const value = text.slice(start, end);
  return value.length < MIN_LENGTH || isReference(value) || isTrivial(value) ? undefined : { start, end };
}

function findBare(
  text: string,
  start: number,
  { name, operator, isTight, isSpaced }: Target,
): Span | undefined {
  if (operator === ":" && !isSpaced) return undefined; // `image:tag`, `host:port`
  const lookaheadEnd = endOfWord(text, start, LOOKAHEAD);
  const wordEnd = trimPunctuation(text, start, lookaheadEnd);
  const word = text.slice(start, wordEnd);
  if (word.length < MIN_LENGTH || isReference(word) || isTrivial(word)) return undefined;
  const isShell = isTight && name === name.toUpperCase();
  if (!isShell && (isExpression(word) || isVariable(word, text.charAt(wordEnd), name))) return undefined;
  // More words on the line make it a sentence: "password: must be at least 8 characters".
  if (!isTight && /^[ \t]+[^\s#,}]/.test(text.slice(lookaheadEnd, lookaheadEnd + TRAILING_CONTEXT)))
    return undefined;
  const end = trimPunctuation(text, start, endOfWord(text, start));
  return { start, end };
}

/** `"Password: ", prompt`: the quote that looked like an opening one closes a string. */
function isAfterString(text: string): boolean {
  return /^(?:,\s|\)|;|\s+[+%])/.test(text);
}

/** `token: token`, `password = value;`: program code that passes a variable. */
function isVariable(word: string, next: string, name: string): boolean {
  const ownName = name.slice(name.lastIndexOf(".") + 1).replace(/^-+/, "");
  return word.toLowerCase() === ownName.toLowerCase() || (/^[A-Za-z_$]+$/.test(word) && /[,;)]/.test(next));
}

/** Names whose literals in code are credentials; `primaryKey` and `cacheKey` are not. */
const CREDENTIAL_NAME =
  /passw|passphrase|secret|token|credential|(?:api|access|private|signing|encryption)[_-]?key/i;
const SAMPLE =
  /^(?:change[_-]?(?:me|it)|(?:my|your|the|some|an?)[_-].*|.*(?:example|placeholder|dummy|sample|redacted|todo).*|(?:pass|api|test|fake)?[_-]?(?:password|passwd|secret|token|key|value)|foo|bar|test|none|empty)$/i;

/** Whether a quoted value in code is a credential and not a label, a sample, a template or the name of a kind of token. */
function isCredentialLiteral(text: string, { start, end }: Span, name: string): boolean {
  const value = text.slice(start, Math.min(end, start + LOOKAHEAD));
  if (!CREDENTIAL_NAME.test(name) || /[\s{}]|%[sd(]/.test(value) || SAMPLE.test(value)) return false;
  if (/token/i.test(name) && /^[A-Za-z_.-]+$/.test(value)) return false; // `token: "comma"`
  return !/^\\{0,3}["'`]\s{0,4}[|+]/.test(text.slice(end, end + 9)); // a union of types, or only a part of the value
}
