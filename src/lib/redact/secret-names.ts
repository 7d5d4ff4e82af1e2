const setOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Words that make a name secret: alone, or as the last of several (`client_secret`). */
const SECRET_WORDS = setOf(
  "apikey authtoken credential credentials passphrase passwd password passwords secret secrets token",
);

/** Words that make a name secret only after another word: alone, `key` is a map key and `pwd` the working directory. */
const SECRET_LAST_WORDS = setOf("key pass pwd");

/** Words before a secret `Key` in camel case, where most keys are not secret (`messageKey`). */
const SECRET_CAMEL_KINDS = setOf(
  "access account api app auth client encryption master private secret service signing",
);

/** Endings of one upper-case word, for names like `DBPASSWORD`. */
const SECRET_ENDING = /(?:apikey|credentials?|passphrase|passwd|password|secret|token)$/;

/** Words before a `key` (primary key) or `token` (next-page token) that is not secret. */
const PUBLIC_KINDS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    "key",
    setOf(
      "cache column composite dedupe foreign group hash hot i18n idempotency index lookup map partition primary " +
        "public range routing row shortcut sort translation unique",
    ),
  ],
  [
    "token",
    setOf(
      "bos cls continuation cursor end eos mask max min next pad page pagination prev previous sep special start " +
        "stop unk",
    ),
  ],
]);

/** Last words of names that describe a secret but do not hold one: `TOKEN_LIMIT`, `SSH_KEY_PATH`. */
const PUBLIC_ENDINGS = setOf(
  "age alg algo algorithm bits budget column cost count dir disabled enabled endpoint expiration expires expiry " +
    "field file folder format header helper host id ids kind len length limit max min mode ms name names path " +
    "pattern policy port prefix price provider rate regex required rotation seconds size source store suffix " +
    "timeout ttl type uri url usage version",
);

/** Whether the value of a name is a secret. Upper-case names need the secret word anywhere, other names at the end. */
export function isSecretName(name: string): boolean {
  const last = name.slice(name.lastIndexOf(".") + 1);
  const isUpper = /[A-Z]/.test(last) && !/[a-z]/.test(last);
  const isCamel = /[a-z0-9][A-Z]/.test(last);
  const split = isCamel ? last.replace(/([a-z0-9])([A-Z])/g, "$1_$2") : last;
  const words = split.toLowerCase().split(/[_-]/).filter(Boolean);
  if (PUBLIC_ENDINGS.has(words.at(-1) ?? "")) return false;
  return words.some((word, index) => {
    const before = words[index - 1] ?? "";
    if (!isUpper && index < words.length - 1) return false;
    if (PUBLIC_KINDS.get(word)?.has(before) === true) return false;
    if (isCamel && word === "key") return SECRET_CAMEL_KINDS.has(before);
    if (SECRET_WORDS.has(word) || (before !== "" && SECRET_LAST_WORDS.has(word))) return true;
    return isUpper && (last === "KEY" || SECRET_ENDING.test(word));
  });
}
