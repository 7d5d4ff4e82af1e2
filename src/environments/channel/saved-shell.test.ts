import { expect, test } from "vitest";
import { saveShell } from "./saved-shell.ts";

const EMPTY = { cwd: "/", exports: new Map<string, string>(), definitions: "" };

function save(variables: Readonly<Record<string, string>>) {
  const exports = new Map(
    Object.entries(variables).map(([name, value]) => [name, `export ${name}='${value}'\n`]),
  );
  const shell = { base: EMPTY, state: { ...EMPTY, exports }, previousCwd: undefined, injectedVariables: {} };
  return saveShell(shell, (text) => text);
}

test.each([
  ["EMPTY", ""],
  ["COUNT", "42"],
  ["RATIO", "-0.75"],
  ["VERSION", "v20.11.1"],
  ["CI", "true"],
  ["VERBOSE", "Yes"],
  ["NODE_ENV", "production"],
  ["TARGET", "/srv/my project/@scope/build"],
  ["VIRTUAL_ENV", "~/envs/one"],
  ["PYTHONPATH", "../lib:.:/opt/lib/python3.11"],
  ["LC_ALL", "en_US.UTF-8"],
  ["TZ", "America/New_York"],
  ["TERM", "xterm-256color"],
  ["CFLAGS", "-O2 -Wall"],
  ["BASE", "http://localhost:8080/"],
])("%s=%s is safe and kept", (name, value) => {
  expect(save({ [name]: value })).toMatchObject({ variables: { [name]: value }, withheld: [] });
});

test.each([
  ["COOKIE", "chocolate"],
  ["MYPIN", "1234"],
  ["pinCode", "1234"],
  ["LOGIN_OTP", "123456"],
  ["SENTRY_DSN", "/1"],
  ["SESSION", "abc"],
  ["AUTH_HEADER", "basic"],
  ["TLS_CERT", "abc"],
  ["SIGNATURE", "abc"],
  ["HASH_SALT", "abc"],
  ["DBPASS", "abc"],
  ["SEED_PHRASE", "abc"],
  ["REPORT", "https://opaque@host/1"],
  ["HOOK", "https://host/services/opaque"],
  ["QUERY", "http://host/?code=opaque"],
  ["OTHER_SIDE", "//me:word@host/"],
  ["LIBRARY", "/lib://me:word@host/"],
  ["DATABASE", "postgres://host/name"],
  ["SENTENCE", "correct horse battery staple"],
  ["MIXED", "Tr0ub4dor"],
  ["DASHED", "7391-4482"],
  ["CARD", "4111111111111111"],
  ["TWO", "/a\n/b"],
])("%s=%s may be a secret and is withheld", (name, value) => {
  const { variables, withheld, tooLong } = save({ [name]: value });
  expect({ variables, withheld, tooLong }).toEqual({ variables: {}, withheld: [name], tooLong: [] });
});

test("safe values that are too long, alone or together, are distinguished from secrets", () => {
  const many = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`V${index}`, "/a".repeat(2_000)]),
  );
  const { variables, withheld, tooLong } = save({ BIG: "word ".repeat(1_000), ...many, LAST: "1" });
  expect(withheld).toEqual([]);
  expect(tooLong).toEqual(["BIG", "V16", "V17", "V18", "V19"]);
  expect(variables).toHaveProperty("LAST", "1");
});
