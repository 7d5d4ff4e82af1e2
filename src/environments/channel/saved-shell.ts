import { createKnownValueFinder } from "../../lib/redact/known-values.ts";
import { isSecretName } from "../../lib/redact/secret-names.ts";
import type { SavedShell } from "../environment.ts";
import { ESCAPES, quoteWord } from "./quote.ts";
import type { ShellState } from "./shell-state.ts";

const MAX_VALUE_LENGTH = 4_096;
const MAX_TOTAL_LENGTH = 65_536;
/** Random letters and digits, or a UUID: probably a key of some service. */
const RANDOM = /(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

/** Matches anywhere in a name. False positives cost little: the names are reported and the values can be set again. */
const SECRET_PART =
  /ACCESS|AUTH|BEARER|CERT|CODE|COOKIE|CREDENTIAL|CSRF|DSN|HASH|JWT|KEY|LICEN[CS]E|MNEMONIC|NONCE|OTP|PASS|PHRASE|PIN(?![A-Z])|PRIVATE|SALT|SECRET|SEED|SESSION|SIGNATURE|TOKEN|WEBHOOK/i;
/** Settings of the terminal, the language and compilers, whose values have many forms. */
const SAFE_NAME = /^(?:COLORTERM|LANG|LANGUAGE|LC_[A-Z]+|TERM|TZ|(?:C|CPP|CXX|GO|LD|MAKE|RUST)FLAGS)$/;
const PATH = String.raw`(?:\.{1,2}|~|(?:\.{1,2}|~)?/(?!/)[^\n:]*)`;
/** Values that are safe under any name. All others could be secrets. */
const SAFE_VALUES: readonly RegExp[] = [
  /^$/,
  /^-?\d{1,9}(?:\.\d{1,9})?$/,
  /^v?\d{1,4}(?:\.\d{1,5}){1,3}$/, // a version
  /^(?:true|false|yes|no|on|off)$/i,
  /^[a-z]{1,12}$/,
  new RegExp(`^${PATH}(?::${PATH}?)*$`),
  /^https?:\/\/[a-z0-9.-]{1,60}(?::\d{1,5})?\/?$/, // without user, path and query, each of which can contain a token
];

/** The input of `saveShell`. */
export interface ShellToSave {
  readonly base: ShellState;
  readonly state: ShellState;
  readonly previousCwd: string | undefined;
  /** Variables that every command gets and whose values must not reach disk. */
  readonly injectedVariables: Readonly<Record<string, string>>;
}

/**
 * Saves the folder and the changed variables of a shell, without any value that may be a secret. Only clearly safe values
 * are kept: variables with a secret's name, and values that `redact` would hide, that look random or that contain a known
 * secret of the environment, are withheld.
 */
export function saveShell(
  { base, state, previousCwd, injectedVariables }: ShellToSave,
  redact: (text: string) => string,
): SavedShell {
  const secrets = [...Object.values(injectedVariables), ...secretsOf(base)];
  const findSecrets = createKnownValueFinder(secrets);
  const isSafe = (name: string, value: string): boolean =>
    (SAFE_NAME.test(name) || SAFE_VALUES.some((shape) => shape.test(value))) &&
    !value.includes("\uFFFD") &&
    !RANDOM.test(value) &&
    redact(`${name}=${value}`) === `${name}=${value}` &&
    redact(value) === value &&
    !(value !== "" && secrets.includes(value)) &&
    findSecrets(value).length === 0;
  const variables: Record<string, string> = {};
  const withheld: string[] = [];
  const tooLong: string[] = [];
  let room = MAX_TOTAL_LENGTH;
  for (const [name, text] of state.exports) {
    if (base.exports.get(name) === text) continue;
    const value = exportedValue(text);
    if (value === undefined || isSecretName(name) || SECRET_PART.test(name)) withheld.push(name);
    else if (value.length > MAX_VALUE_LENGTH) tooLong.push(name);
    else if (!isSafe(name, value)) withheld.push(name);
    else if (name.length + value.length > room) tooLong.push(name);
    else {
      variables[name] = value;
      room -= name.length + value.length;
    }
  }
  const unset = [...base.exports.keys()].filter((name) => !state.exports.has(name));
  return { cwd: state.cwd, previousCwd, variables, unset, withheld, tooLong };
}

/** The state of a fresh shell with the saved variables applied. */
export function restoreShell(base: ShellState, { variables, unset }: SavedShell): ShellState {
  const exports = new Map(base.exports);
  for (const name of unset) exports.delete(name);
  for (const [name, value] of Object.entries(variables))
    exports.set(name, `export ${name}=${quoteWord(value)}\n`);
  return { ...base, exports };
}

function secretsOf({ exports }: ShellState): string[] {
  return [...exports].flatMap(([name, text]) => (isSecretName(name) ? (exportedValue(text) ?? []) : []));
}

const WORD = /"((?:[^"\\]|\\[\s\S])*)"|\$'((?:[^'\\]|\\[\s\S])*)'|'([^']*)'|\\([\s\S])|([^\s"'\\]+)/gy;

/** Parses the value of the shell text `export NAME=…`; undefined if it has none or cannot be parsed. */
function exportedValue(text: string): string | undefined {
  const start = text.indexOf("=") + 1;
  if (start === 0) return undefined;
  const word = text.slice(start, -1);
  let value = "";
  let read = 0;
  for (const match of word.matchAll(WORD)) {
    const [all, quoted, escaped, literal, single, plain] = match;
    read += all.length;
    value += quoted?.replace(/\\([$`"\\\n])/g, "$1") ?? literal ?? single ?? plain ?? "";
    if (escaped !== undefined) value += unescapeAnsi(escaped);
  }
  return read === word.length ? value : undefined;
}

/** bash prints unprintable characters as octal bytes, so the text is decoded from bytes. */
function unescapeAnsi(text: string): string {
  const parts = [...text.matchAll(/\\([0-7]{1,3})|\\([\s\S])|([^\\]+)/g)].map(([, octal, letter, plain]) => {
    if (octal !== undefined) return Buffer.from([Number.parseInt(octal, 8)]);
    return Buffer.from(plain ?? ESCAPES[letter ?? ""] ?? letter ?? "", "utf8");
  });
  return Buffer.concat(parts).toString("utf8");
}
