import { createSecretMatch, type SecretMatch } from "./secret-match.ts";

const ARMOR_LINE = /-----(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g;
const MAX_BLOCK = 16_384; // a 16,384-bit RSA key is 12.6 KB
// Without such a run between them, BEGIN and END lines enclose no key; a text only mentions them.
const KEY_MATERIAL = /[A-Za-z0-9+/]{24}/;
const BODY_CHARACTER = /[A-Za-z0-9+/=\s]/;

/** Finds private key blocks, including blocks of which only the start or the end is in the text. */
export function findPrivateKeys(text: string): SecretMatch[] {
  if (!text.includes("PRIVATE KEY")) return [];
  const findings: SecretMatch[] = [];
  const add = (start: number, end: number) => {
    if (KEY_MATERIAL.test(text.slice(start, end))) {
      findings.push(createSecretMatch("private-key", { start, end }));
    }
  };
  let begin: { start: number; end: number } | undefined;
  for (const { 0: line, 1: side, index } of text.matchAll(ARMOR_LINE)) {
    const end = index + line.length;
    if (begin !== undefined && side === "END" && end - begin.start <= MAX_BLOCK) {
      add(begin.start, end);
      begin = undefined;
      continue;
    }
    if (begin !== undefined) add(begin.start, bodyEnd(text, begin.end));
    if (side === "END") add(bodyStart(text, index), end);
    begin = side === "BEGIN" ? { start: index, end } : undefined;
  }
  if (begin !== undefined) add(begin.start, bodyEnd(text, begin.end));
  return findings;
}

function bodyEnd(text: string, from: number): number {
  let end = from;
  while (end < text.length && end - from < MAX_BLOCK) {
    if (BODY_CHARACTER.test(text.charAt(end))) end += 1;
    else if (isEscapedNewline(text, end)) end += 2;
    else break;
  }
  return end;
}

function bodyStart(text: string, before: number): number {
  let start = before;
  while (start > 0 && before - start < MAX_BLOCK) {
    if (BODY_CHARACTER.test(text.charAt(start - 1))) start -= 1;
    else if (text.charAt(start - 1) === "\\" && isEscapedNewline(text, start - 1)) start -= 1;
    else break;
  }
  return start;
}

function isEscapedNewline(text: string, at: number): boolean {
  return text.charAt(at) === "\\" && /[nr]/.test(text.charAt(at + 1));
}
