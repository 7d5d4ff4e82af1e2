import { isExpression, isReference, isTrivial } from "./non-secret-values.ts";
import { endOfQuoted, endOfWord, findOpener, type Opener, trimPunctuation } from "./quoted-text.ts";
import { createSecretMatch, type SecretMatch } from "./secret-match.ts";

// `Name: ` as in HTTP and curl, `"Name": "` as in JSON, `["Name"] = "` and `"Name" => "` as in code.
const HEADER =
  /(?<![\w-])((?:proxy-)?authorization|(?:x-)?(?:goog-)?api-key|x-(?:auth|access)-token|x-amz-security-token|private-token|(?:set-)?cookie)(?:\\{0,3}["']\]?[ \t]{0,4}(?:=>|=(?!=)|:)|[ \t]{0,4}:(?!:))[ \t]{0,4}/gi;
const TOKEN_SCHEME = /^(?:apikey|basic|bearer|bot|dpop|negotiate|ntlm|token)[ \t]{1,4}/i;
const PARAMETER_SCHEME = /^(?:aws4-hmac-sha256|digest|hawk|hoba|oauth|signature)[ \t]{1,4}/i;
const MAX_SCHEME_LENGTH = 24;
const MIN_LENGTH = 8;
const LOOKAHEAD = 256; // limit for inspecting a value that may be rejected
/** The number of characters after a value that the finding depends on. */
const TRAILING_CONTEXT = 2;

/** Finds the credentials of HTTP headers, in any notation. */
export function findAuthHeaders(text: string): SecretMatch[] {
  const findings: SecretMatch[] = [];
  let consumed = 0;
  for (const { 0: matched, 1: name = "", index: from } of text.matchAll(HEADER)) {
    if (from < consumed) continue;
    const at = from + matched.length;
    const isNameClosed = /["']/.test(matched);
    const opener = findOpener(text, at) ?? (isNameClosed ? undefined : openerBefore(text, from, at));
    const start = opener?.end ?? at;
    // An unquoted `x-api-key` is not an identifier in any language; a quoted name or `authorization` may be code.
    const mayBeCode = opener === undefined && (isNameClosed || !name.includes("-"));
    const value = /cookie$/i.test(name)
      ? findCookies(text, start, opener)
      : findCredential(text, start, opener, mayBeCode);
    if (value === undefined) continue;
    findings.push(createSecretMatch(value.kind, value, from, endOfWord(text, value.end) + TRAILING_CONTEXT));
    consumed = value.end;
  }
  return findings;
}

type Value = Pick<SecretMatch, "start" | "end" | "kind">;

function findCookies(text: string, start: number, opener: Opener | undefined): Value | undefined {
  const first = text.slice(start, endOfWord(text, start, LOOKAHEAD));
  if (!first.slice(1).includes("=") || isReference(first)) return undefined;
  return { start, end: endOfValue(text, start, opener), kind: "cookie" };
}

function findCredential(
  text: string,
  at: number,
  opener: Opener | undefined,
  mayBeCode: boolean,
): Value | undefined {
  const kind = "authorization";
  const head = text.slice(at, at + MAX_SCHEME_LENGTH);
  const parameterScheme = PARAMETER_SCHEME.exec(head)?.[0];
  const scheme = parameterScheme ?? TOKEN_SCHEME.exec(head)?.[0] ?? "";
  const start = at + scheme.length;
  const wordEnd = trimPunctuation(text, start, endOfWord(text, start, LOOKAHEAD));
  const word = text.slice(start, wordEnd);
  const isParameter = parameterScheme !== undefined && word.includes("=");
  if (isParameter) return { start, end: endOfValue(text, start, opener), kind };
  if (word.length < MIN_LENGTH || isReference(word) || isTrivial(word)) return undefined;
  if (mayBeCode && isExpression(word)) return undefined;
  if (scheme === "" && !/[0-9]/.test(word)) {
    // Cannot be distinguished from a variable in code or a sentence in a manual.
    const isSentence = /^[ \t]+[^\s]/.test(text.slice(wordEnd, wordEnd + TRAILING_CONTEXT));
    if (isSentence || (mayBeCode && /^[\w$]+$/.test(word))) return undefined;
  }
  const end = trimPunctuation(text, start, endOfWord(text, start));
  return { start, end, kind };
}

/** `-H "Name: value"`: the opening quote precedes the name. */
function openerBefore(text: string, name: number, value: number): Opener | undefined {
  const match = /(\\{0,3})(["'`])$/.exec(text.slice(Math.max(0, name - 4), name));
  return match === null ? undefined : { quote: match[2] ?? "", escapes: match[1]?.length ?? 0, end: value };
}

function endOfValue(text: string, start: number, opener: Opener | undefined): number {
  if (opener !== undefined) return endOfQuoted(text, { ...opener, end: start });
  const stop = text.slice(start).search(/[\r\n]|\\[rn]/);
  return stop < 0 ? text.length : start + stop;
}
