import { type Finding, findingOf } from "./finding.ts";
import { isReference } from "./plain-values.ts";

const AUTHORITY = /(?<=[A-Za-z0-9]):\\{0,2}\/\\{0,2}\/([^\s/?#"'<>`\\]*)/g;
const MIN_BARE_TOKEN = 20; // shorter ones are user names

/** Finds the password in `scheme://user:password@host`, and a token that stands there in place of both. */
export function findUrlPasswords(text: string): Finding[] {
  const findings: Finding[] = [];
  for (const { 0: whole, 1: authority = "", index } of text.matchAll(AUTHORITY)) {
    const at = authority.lastIndexOf("@"); // the last one: people forget to encode those of a password
    if (at < 0) continue;
    const user = authority.slice(0, at);
    const colon = user.indexOf(":");
    const secret = user.slice(colon + 1);
    const isBareToken = colon < 0 && secret.length >= MIN_BARE_TOKEN && /[0-9]/.test(secret);
    if (secret === "" || (colon < 0 && !isBareToken) || isReference(secret)) continue;
    const start = index + whole.length - authority.length + colon + 1;
    const kind = colon < 0 ? "url-token" : "url-password";
    const end = start + secret.length;
    findings.push(findingOf(kind, { start, end }, index - 1, end + 1));
  }
  return findings;
}
