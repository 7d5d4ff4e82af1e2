const setOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Words that make a name secret: alone, or as the last of several (`client_secret`). */
const SECRET_WORDS = setOf(
  "apikey authtoken credential credentials passphrase passwd password passwords secret secrets token",
);

/** Words that do so only behind another one: alone, `key` is that of a map and `pwd` the working directory. */
const SECRET_LAST_WORDS = setOf("key pass pwd");

/** What stands in front of a secret `Key` in camel case, where programs have keys of every kind (`messageKey`). */
const SECRET_CAMEL_KINDS = setOf(
  "access account api app auth client encryption master private secret service signing",
);

/** Endings of one upper-case word, for names like `DBPASSWORD`. */
const SECRET_ENDING = /(?:apikey|credentials?|passphrase|passwd|password|secret|token)$/;

/** What stands in front of a harmless `key` (a primary key) or `token` (that of the next page). */
const HARMLESS_KINDS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
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

/** Last words that speak about a secret instead of being one: `TOKEN_LIMIT`, `SSH_KEY_PATH`. */
const HARMLESS_ENDINGS = setOf(
  "age alg algo algorithm bits budget column cost count dir disabled enabled endpoint expiration expires expiry " +
    "field file folder format header helper host id ids kind len length limit max min mode ms name names path " +
    "pattern policy port prefix price provider rate regex required rotation seconds size source store suffix " +
    "timeout ttl type uri url usage version",
);

/** True for a name whose value is a secret; upper-case names need the telling word anywhere, others at the end. */
export function isSecretName(name: string): boolean {
  const last = name.slice(name.lastIndexOf(".") + 1);
  const isUpper = /[A-Z]/.test(last) && !/[a-z]/.test(last);
  const isCamel = /[a-z0-9][A-Z]/.test(last);
  const split = isCamel ? last.replace(/([a-z0-9])([A-Z])/g, "$1_$2") : last;
  const words = split.toLowerCase().split(/[_-]/).filter(Boolean);
  if (HARMLESS_ENDINGS.has(words.at(-1) ?? "")) return false;
  return words.some((word, index) => {
    const before = words[index - 1] ?? "";
    if (!isUpper && index < words.length - 1) return false;
    if (HARMLESS_KINDS.get(word)?.has(before) === true) return false;
    if (isCamel && word === "key") return SECRET_CAMEL_KINDS.has(before);
    if (SECRET_WORDS.has(word) || (before !== "" && SECRET_LAST_WORDS.has(word))) return true;
    return isUpper && (last === "KEY" || SECRET_ENDING.test(word));
  });
}
