import { isReference } from "./non-secret-values.ts";
import { createSecretMatch, type SecretMatch } from "./secret-match.ts";

const AUTHORITY = /(?<=[A-Za-z0-9]):\\{0,2}\/\\{0,2}\/([^\s/?#"'<>`\\]*)/g;
const MIN_BARE_TOKEN = 20; // a shorter one is a user name

/** Finds the password in `scheme://user:password@host`, or a token in place of user and password. */
export function findUrlPasswords(text: string): SecretMatch[] {
  const findings: SecretMatch[] = [];
  for (const { 0: matched, 1: authority = "", index } of text.matchAll(AUTHORITY)) {
    const at = authority.lastIndexOf("@"); // the last `@`: passwords often contain unencoded ones
    if (at < 0) continue;
    const user = authority.slice(0, at);
    const colon = user.indexOf(":");
    const secret = user.slice(colon + 1);
    const isBareToken = colon < 0 && secret.length >= MIN_BARE_TOKEN && /[0-9]/.test(secret);
    if (secret === "" || (colon < 0 && !isBareToken) || isReference(secret)) continue;
    const start = index + matched.length - authority.length + colon + 1;
    const kind = colon < 0 ? "url-token" : "url-password";
    const end = start + secret.length;
    findings.push(createSecretMatch(kind, { start, end }, index - 1, end + 1));
  }
  return findings;
}
