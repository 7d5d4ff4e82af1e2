import { type Finding, findingOf } from "./finding.ts";
import type { Span } from "./mark.ts";
import { isExpression, isReference, isTrivial } from "./plain-values.ts";
import { endOfQuoted, endOfWord, findOpener, type Opener, trimPunctuation } from "./quoted-text.ts";
import { isSecretName } from "./secret-names.ts";

// The name is a whole run, so that each is tried once; one of more than 80 characters is no name.
const ASSIGNMENT = /(?<![\w.-])([\w.-]{3,80})(\\{0,3}["']\]?)?([ \t]{0,8})(=>|:=|=(?!=)|:(?!:))([ \t]{0,8})/g;
const MIN_LENGTH = 4;
const GLIMPSE = 96; // what may be refused is looked at no further, or a text of many refusals would be read many times

const GLANCE_BEHIND = 3;

/** The left side of an assignment. */
interface Target {
  readonly name: string;
  /** What stands in front of the name. */
  readonly lead: string;
  /** The quote that closes the name, as in JSON. */
  readonly closer: string;
  readonly operator: string;
  /** `NAME=value`, as a shell writes it. */
  readonly isTight: boolean;
  /** A space stands in front of the value. */
  readonly isSpaced: boolean;
}

/** Finds the values of secret names in `NAME=value`, YAML `name: value` and JSON `"name": "value"`. */
export function findAssignments(text: string): Finding[] {
  const findings: Finding[] = [];
  let consumed = 0;
  for (const match of text.matchAll(ASSIGNMENT)) {
    const { 0: whole, 1: run = "", 2: closer = "", 3: before, 4: operator = "", 5: after, index } = match;
    const lead = text.charAt(index - 1);
    // In JSON text a line begins behind `\n`, whose letter is not part of the name.
    const name = lead === "\\" && /^[nrt]/.test(run) ? run.slice(1) : run;
    if (index < consumed || !isSecretName(name)) continue;
    const isTight = operator === "=" && before === "" && after === "";
    const target: Target = { name, lead, closer, operator, isTight, isSpaced: after !== "" };
    const at = index + whole.length;
    const opener = findOpener(text, at);
    const value = opener === undefined ? findBare(text, at, target) : findQuoted(text, opener, target);
    if (value === undefined) continue;
    findings.push(findingOf("secret-value", value, index, endOfWord(text, value.end) + GLANCE_BEHIND));
    consumed = value.end;
  }
  return findings;
}

function findQuoted(
  text: string,
  opener: Opener,
  { lead, closer, operator, isSpaced }: Target,
): Span | undefined {
  // In `"password:", password` it is the end of a string, not the beginning of one.
  if (operator === ":" && closer === "" && !isSpaced && !/[{,(]/.test(lead)) return undefined;
  const { end: start } = opener;
  const head = text.slice(start, start + GLIMPSE);
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
  const seen = endOfWord(text, start, GLIMPSE);
  const wordEnd = trimPunctuation(text, start, seen);
  const word = text.slice(start, wordEnd);
  if (word.length < MIN_LENGTH || isReference(word) || isTrivial(word)) return undefined;
  const isShell = isTight && name === name.toUpperCase();
  if (!isShell && (isExpression(word) || isVariable(word, text.charAt(wordEnd), name))) return undefined;
  // More words on the line make it a sentence: "password: must be at least 8 characters".
  if (!isTight && /^[ \t]+[^\s#,}]/.test(text.slice(seen, seen + GLANCE_BEHIND))) return undefined;
  const end = trimPunctuation(text, start, endOfWord(text, start));
  return { start, end };
}

/** `"Password: ", prompt`: what looked like an opening quote closes a string. */
function isAfterString(text: string): boolean {
  return /^(?:,\s|\)|;|\s+[+%])/.test(text);
}

/** `token: token`, `password = value;`: a program hands something on. */
function isVariable(word: string, next: string, name: string): boolean {
  const ownName = name.slice(name.lastIndexOf(".") + 1).replace(/^-+/, "");
  return word.toLowerCase() === ownName.toLowerCase() || (/^[A-Za-z_$]+$/.test(word) && /[,;)]/.test(next));
}
