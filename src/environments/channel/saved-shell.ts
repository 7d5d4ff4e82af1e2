import { createKnownValueFinder } from "../../lib/redact/known-values.ts";
import { isSecretName } from "../../lib/redact/secret-names.ts";
import type { SavedShell } from "../environment.ts";
import { quoteWord } from "./quote.ts";
import type { ShellState } from "./shell-state.ts";

const LONGEST_VALUE = 4_096;
const MOST_CHARACTERS = 65_536;
/** Random letters and digits, or a UUID: a key of some service, as likely as not. */
const RANDOM = /(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

/** Anywhere in a name. That it is too much for some costs little: the names are told, and the values can be set again. */
const SECRET_PART =
  /ACCESS|AUTH|BEARER|CERT|CODE|COOKIE|CREDENTIAL|CSRF|DSN|HASH|JWT|KEY|LICEN[CS]E|MNEMONIC|NONCE|OTP|PASS|PHRASE|PIN(?![A-Z])|PRIVATE|SALT|SECRET|SEED|SESSION|SIGNATURE|TOKEN|WEBHOOK/i;
/** Settings of the terminal, the language and compilers, which are of many shapes. */
const HARMLESS_NAME = /^(?:COLORTERM|LANG|LANGUAGE|LC_[A-Z]+|TERM|TZ|(?:C|CPP|CXX|GO|LD|MAKE|RUST)FLAGS)$/;
const PATH = String.raw`(?:\.{1,2}|~|(?:\.{1,2}|~)?/(?!/)[^\n:]*)`;
/** All that a value may be under any other name. Whatever is none of these could be a secret. */
const HARMLESS_VALUES: readonly RegExp[] = [
  /^$/,
  /^-?\d{1,9}(?:\.\d{1,9})?$/,
  /^v?\d{1,4}(?:\.\d{1,5}){1,3}$/, // a version
  /^(?:true|false|yes|no|on|off)$/i,
  /^[a-z]{1,12}$/,
  new RegExp(`^${PATH}(?::${PATH}?)*$`),
  /^https?:\/\/[a-z0-9.-]{1,60}(?::\d{1,5})?\/?$/, // no user, no path and no query, any of which can be a token
];

/** What a session's shell is saved from. */
export interface ShellToSave {
  readonly base: ShellState;
  readonly state: ShellState;
  readonly previousCwd: string | undefined;
  /** Values that every command gets and that no file may hold. */
  readonly given: Readonly<Record<string, string>>;
}

/**
 * The folder and the changed variables of a shell, without any value that may be a secret: only what is plainly harmless is
 * kept, and nothing whose name is that of a secret, that `redact` would hide, that looks random, or that contains a value of
 * the environment that was secret there.
 */
export function saveShell(
  { base, state, previousCwd, given }: ShellToSave,
  redact: (text: string) => string,
): SavedShell {
  const secrets = [...Object.values(given), ...secretsOf(base)];
  const findSecrets = createKnownValueFinder(secrets);
  const isHarmless = (name: string, value: string): boolean =>
    (HARMLESS_NAME.test(name) || HARMLESS_VALUES.some((shape) => shape.test(value))) &&
    !value.includes("\uFFFD") &&
    !RANDOM.test(value) &&
    redact(`${name}=${value}`) === `${name}=${value}` &&
    redact(value) === value &&
    !(value !== "" && secrets.includes(value)) &&
    findSecrets(value).length === 0;
  const variables: Record<string, string> = {};
  const withheld: string[] = [];
  const tooLong: string[] = [];
  let room = MOST_CHARACTERS;
  for (const [name, text] of state.exports) {
    if (base.exports.get(name) === text) continue;
    const value = exportedValue(text);
    if (value === undefined || isSecretName(name) || SECRET_PART.test(name)) withheld.push(name);
    else if (value.length > LONGEST_VALUE) tooLong.push(name);
    else if (!isHarmless(name, value)) withheld.push(name);
    else if (name.length + value.length > room) tooLong.push(name);
    else {
      variables[name] = value;
      room -= name.length + value.length;
    }
  }
  const unset = [...base.exports.keys()].filter((name) => !state.exports.has(name));
  return { cwd: state.cwd, previousCwd, variables, unset, withheld, tooLong };
}

/** The state of a shell that goes on with what was saved of another, on top of what it finds by itself. */
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

/** The value that the shell text `export NAME=…` gives; undefined where it gives none or one that is no text. */
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

const ANSI: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** bash writes what it cannot print as octal bytes, so the text is put together from bytes. */
function unescapeAnsi(text: string): string {
  const parts = [...text.matchAll(/\\([0-7]{1,3})|\\([\s\S])|([^\\]+)/g)].map(([, octal, letter, plain]) => {
    if (octal !== undefined) return Buffer.from([Number.parseInt(octal, 8)]);
    return Buffer.from(plain ?? ANSI[letter ?? ""] ?? letter ?? "", "utf8");
  });
  return Buffer.concat(parts).toString("utf8");
}
