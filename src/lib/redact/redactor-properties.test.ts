import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Script } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scale } from "../../../test/support/scale.ts";
import { createRedactor } from "./redactor.ts";

const run = "aB3".repeat(20);
/** A linear run takes less than 0.1 s. */
const TIMEOUT_MS = 30_000;

/** Pieces that finders search for: complete, partial and overlapping. */
const FRAGMENTS = [
  ...[
    `sk-ant-${run}`,
    `sk-${run}`,
    `ghp_${run}`,
    "ghp_",
    `AKIA${"ABCD2345".repeat(2)}`,
    `xoxb-${run}`,
    "SG.",
    run,
  ],
  ...[`eyJ${run}.${run}.${run}`, "eyJ", `123456789:${run.slice(0, 35)}`, "123456789:", "bot", "/"],
  ...["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\n"],
  ...["Authorization: ", "authorization", "Bearer ", "Digest ", "Cookie: ", "x-api-key: ", "a=b; ", "basic "],
  ...[
    "API_KEY",
    "password",
    "DB_PASSWORD=",
    "token: ",
    '"secret": "',
    "MAX_TOKENS=",
    "_KEY",
    "clientSecret",
    ".token",
  ],
  ...[
    "=",
    ":",
    " = ",
    ": ",
    "=>",
    ":=",
    "==",
    '"',
    "'",
    "`",
    '\\"',
    "\\n",
    "\\",
    "\n",
    " ",
    "\t",
    ",",
    ";",
    ")",
    "}",
  ],
  ...[
    "https://",
    "http://",
    "postgres://",
    "://",
    "user",
    ":hunter2",
    "@",
    "host",
    "?",
    "#",
    "&",
    "%20",
    "https",
  ],
  ...[
    "$",
    `\${X}`,
    "$API_KEY",
    "process.env.X",
    "<key>",
    "true",
    "100",
    "string",
    "next()",
    "hunter2",
    "abcdefgh",
  ],
  ...["«redacted:jwt»", "«redacted:", "«", "»", "redacted:known-secret", "\u001b[31m", "é", "\ud800", "日本"],
];
const fragments = fc.array(fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ maxLength: 12 })), {
  maxLength: 24,
});
const text = fragments.map((parts) => parts.join(""));
const secret = fc.oneof(
  fc.string({ minLength: 8, maxLength: 40, unit: "grapheme" }),
  fc.string({ minLength: 8, maxLength: 40, unit: "binary" }),
  fc.array(fc.constantFrom(...FRAGMENTS), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
);
const isProper = (value: string) => value.length >= 8 && !/[«»]|^[a-z:-]+$/.test(value);

test("agent M4: redacting twice gives the same text as redacting once", () => {
  fc.assert(
    fc.property(text, fc.array(secret, { maxLength: 3 }), fc.boolean(), (given, secrets, code) => {
      const { redact } = createRedactor({ secrets });
      const once = redact(given, { code });
      expect(redact(once, { code })).toBe(once);
    }),
    { numRuns: scale.cases },
  );
});

test("a known value is never in the result, whatever surrounds it", () => {
  fc.assert(
    fc.property(text, secret.filter(isProper), text, fc.boolean(), (before, known, after, code) => {
      const { redact } = createRedactor({ secrets: [known] });
      expect(redact(`${before}${known}${after}`, { code })).not.toContain(known);
    }),
    { numRuns: scale.cases },
  );
});

test("no encoding of a known value is in the result", () => {
  const encodings: ((value: string) => string)[] = [
    (value) => JSON.stringify(value).slice(1, -1),
    encodeURIComponent,
    (value) => Buffer.from(value).toString("base64"),
    (value) => Buffer.from(value).toString("base64url"),
  ];
  const known = fc.string({ minLength: 8, maxLength: 40, unit: "grapheme" }).filter(isProper);
  fc.assert(
    fc.property(text, known, text, fc.constantFrom(...encodings), (before, value, after, encode) => {
      const { redact } = createRedactor({ secrets: [value] });
      expect(redact(`${before}${encode(value)}${after}`)).not.toContain(encode(value));
    }),
    { numRuns: scale.cases },
  );
});

test("text that is not hidden stays unchanged", () => {
  fc.assert(
    fc.property(text, fc.array(secret, { maxLength: 2 }), (given, secrets) => {
      const kept = createRedactor({ secrets })
        .redact(given)
        .split(/«redacted:[a-z-]+»/);
      let position = 0;
      for (const part of kept) {
        const found = given.indexOf(part, position);
        expect(found).toBeGreaterThanOrEqual(0);
        position = found + part.length;
      }
    }),
  );
});

describe("the running time is linear in the length of the text", () => {
  const { redact } = createRedactor({
    secrets: ["secret-value-1", `${"a".repeat(40)}b`, `${"API_KEY=".repeat(4)}x`],
  });

  /**
   * Redacts a text so long that a quadratic algorithm would take hours, with a timeout. The steps inside a regular expression
   * cannot be counted, so finishing in time is the proof of linear work.
   */
  const finishes = (piece: string): void => {
    const given = piece.repeat(Math.ceil(scale.redactedChars / piece.length));
    new Script("redact(given)").runInNewContext({ redact, given }, { timeout: TIMEOUT_MS });
  };

  test.each([
    ...["a", "\\", " ", "\n", "=", '"', "key", "«redacted:", "«redacted:jwt»", "secret-value-"],
    ...["sk-", "sk-ant-", "eyJ", "eyJaaaaaaaa-", "eyJaaaaaaaa.", "SG.aaaaaaaaaaaaaaaa", "1234567:"],
    ...[
      "-----BEGIN PRIVATE KEY-----",
      "-----END PRIVATE KEY-----",
      "-----BEGIN PRIVATE KEY-----\naaaaaaaaaaaaaaaaaa",
    ],
    ...[
      "cookie:",
      "cookie: a ",
      "cookie:a=",
      "cookie:$a=",
      "authorization: digest ",
      "authorization: a=x(",
      "x-api-key:$",
    ],
    ...[
      "API_KEY=",
      "API_KEY=$",
      "a_key:=x(",
      "token: token ",
      'password="',
      "password: 'a\\",
      '"password": "',
      '\\"password\\": \\"',
    ],
    ...[
      "token: `${",
      "http://",
      "https://a?",
      "https://a",
      "://a:",
      "://a:@",
      "a://:b@",
      "https://?secret-value-1",
    ],
  ])("for %j repeated", finishes);

  test("agent M4: for anything that fast-check generates", () => {
    const piece = fragments.map((parts) => parts.join("")).filter((given) => given.length > 0);
    fc.assert(fc.property(piece, finishes), { numRuns: 20 });
  });
});

test.each(["sk-ant-", "eyJaaaaaaaa.", "API_KEY=hunter2 https://a?", "Cookie: a="])(
  "a single word of many megabytes after %j is redacted",
  (piece) => {
    const { redact } = createRedactor({ secrets: [] });
    expect(redact(`${piece}${"a".repeat(17_000_000)}`)).toContain("«redacted:");
  },
);

describe("ordinary text stays unchanged", () => {
  const { redact } = createRedactor({ secrets: [] });
  const require = createRequire(import.meta.url);

  test.each(["fast-check", "pino", "yaml", "commander", "picocolors"])("the source of %s", (name) => {
    const source = readFileSync(require.resolve(name), "utf8");
    expect(redact(source, { code: true })).toBe(source);
  });

  test("output of commands", () => {
    const output = `
total 48
-rw-r--r-- 1 me me  1234 Nov 15 10:00 token.ts
commit 3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a
Author: Someone <someone@example.com>
sha512-abcDEF0123456789abcDEF0123456789abcDEF0123456789+/abcDEF0123456789abcDEF01234567==
"integrity": "sha512-${"aB3/".repeat(21)}=="
2026-11-15T10:00:00.000Z INFO [turn] model=claude prompt_tokens=1523 completion_tokens=88 cache_hit=true key=value
error TS2345: Argument of type 'string' is not assignable to parameter of type 'Token'.
GET /api/v1/items?page_token=abc&limit=10 HTTP/1.1" 200 1234 "https://example.com/?q=a&token=b" "Mozilla/5.0"
npm warn deprecated foo@1.0.0: use bar; see https://example.com/why?id=1#token
  PASS  src/password.test.ts > password: rejects short ones
docker run -p 8080:80 -v /home/me:/work registry.example/image:1.2.3@sha256:${"0a1b".repeat(16)}
id 123e4567-e89b-12d3-a456-426614174000, +49 30 1234567, 192.168.0.1:8080, 12:34:56, C:\\Users\\me
PATH=/usr/bin:/bin HOME=/home/me PWD=/home/me OLDPWD=/ SSH_AUTH_SOCK=/run/agent.sock MAX_TOKENS=4096
Enter the password: `;
    expect(redact(output)).toBe(output);
  });
});
