import { describe, expect, test } from "vitest";
import { containsRedactionMark } from "./redaction-mark.ts";
import { createRedactor } from "./redactor.ts";

const { redact } = createRedactor({ secrets: [] });
const run = "aB3".repeat(20); // assembled here, so that secret scanners do not report this file

describe("a key is recognised by its format", () => {
  const jwt = `eyJ${run.slice(0, 20)}.eyJ${run.slice(0, 30)}.${run.slice(0, 43)}`;
  test.each([
    ["anthropic-key", `sk-ant-api03-${run}`],
    ["openai-key", `sk-${run.slice(0, 48)}`],
    ["openai-key", `sk-proj-${run.slice(0, 10)}_-${run}`],
    ["github-token", `ghp_${run.slice(0, 36)}`],
    ["github-token", `gho_${run.slice(0, 36)}`],
    ["github-token", `ghu_${run.slice(0, 36)}`],
    ["github-token", `ghs_${run.slice(0, 36)}`],
    ["github-token", `ghr_${run.slice(0, 36)}`],
    ["github-token", `github_pat_${run.slice(0, 22)}_${run.slice(0, 50)}`],
    ["gitlab-token", `glpat-${run.slice(0, 20)}`],
    ["slack-token", `xoxb-123456789012-${run.slice(0, 24)}`],
    ["slack-token", `xoxp-123456789012-${run.slice(0, 24)}`],
    ["google-key", `AIza${run.slice(0, 35)}`],
    ["aws-key-id", `AKIA${"ABCD2345".repeat(2)}`],
    ["aws-key-id", `ASIA${"ABCD2345".repeat(2)}`],
    ["stripe-key", `sk_live_${run.slice(0, 24)}`],
    ["stripe-key", `rk_live_${run.slice(0, 24)}`],
    ["huggingface-token", `hf_${run.slice(0, 34)}`],
    ["npm-token", `npm_${run.slice(0, 36)}`],
    ["pypi-token", `pypi-AgEIcHlwaS5vcmc${run}`],
    ["xai-key", `xai-${run}`],
    ["groq-key", `gsk_${run.slice(0, 52)}`],
    ["tavily-key", `tvly-dev-${run.slice(0, 32)}`],
    ["sendgrid-key", `SG.${run.slice(0, 22)}.${run.slice(0, 43)}`],
    ["telegram-token", `123456789:${run.slice(0, 35)}`],
    ["jwt", jwt],
  ])("%s %s", (kind, key) => {
    const mark = `«redacted:${kind}»`;
    expect(redact(key)).toBe(mark);
    expect(redact(`before ${key} after`)).toBe(`before ${mark} after`);
    expect(redact(JSON.stringify({ output: `line\n${key}\nline` }))).toBe(
      `{"output":"line\\n${mark}\\nline"}`,
    );
    expect(redact(`\u001b[31m${key}\u001b[0m`)).toBe(`\u001b[31m${mark}\u001b[0m`);
    expect(redact(key, { code: true })).toBe(mark);
  });

  test("including a telegram token after `bot` in the path of a URL", () => {
    expect(redact(`https://api.telegram.org/bot123456789:${run.slice(0, 35)}/getMe`)).toBe(
      "https://api.telegram.org/«redacted:telegram-token»/getMe",
    );
  });

  test.each([
    `task-${run}`,
    "sk-toggleable__label-arrow-and-more",
    `AKIA${"ABCD2345".repeat(3)}`,
    "SG.short.one",
  ])("but similar text stays unchanged: %s", (text) => expect(redact(text)).toBe(text));
});

describe("a private key", () => {
  const begin = "-----BEGIN OPENSSH PRIVATE KEY-----";
  const end = "-----END OPENSSH PRIVATE KEY-----";
  const body = `${run}\n${run}\n${run.slice(0, 11)}=`;

  test("is hidden from its first line to its last", () => {
    expect(redact(`a\n${begin}\n${body}\n${end}\nb`)).toBe("a\n«redacted:private-key»\nb");
  });

  test("is hidden in JSON", () => {
    expect(redact(JSON.stringify({ k: `${begin}\n${body}\n${end}\n` }))).toBe(
      '{"k":"«redacted:private-key»\\n"}',
    );
  });

  test("is hidden when its end is missing", () => {
    expect(redact(`a ${begin}\n${body}`)).toBe("a «redacted:private-key»");
  });

  test("is hidden when its start is missing", () => {
    expect(redact(`…\n${body}\n${end}\nb`)).toBe("…«redacted:private-key»\nb");
  });

  test("is not found in code that only mentions its BEGIN and END lines", () => {
    const text = `if (text.includes("${begin}") && text.includes("${end}")) return parse(text);`;
    expect(redact(text)).toBe(text);
  });
});

describe("a header", () => {
  test.each([
    ["Authorization: Bearer abcd1234efgh", "Authorization: Bearer «redacted:authorization»"],
    [
      "authorization: basic dXNlcjpwYXNz\r\nHost: a",
      "authorization: basic «redacted:authorization»\r\nHost: a",
    ],
    ["Authorization: abcd1234efgh", "Authorization: «redacted:authorization»"],
    ["x-api-key: correcthorsebattery", "x-api-key: «redacted:authorization»"],
    ["X-Goog-Api-Key:abcd1234efgh", "X-Goog-Api-Key:«redacted:authorization»"],
    ["Cookie: sid=abc; theme=dark\nHost: a", "Cookie: «redacted:cookie»\nHost: a"],
    ["Set-Cookie: sid=abc; Path=/; HttpOnly", "Set-Cookie: «redacted:cookie»"],
    [
      '{"Authorization": "Bearer abcd1234efgh", "a": 1}',
      '{"Authorization": "Bearer «redacted:authorization»", "a": 1}',
    ],
    [
      '{\\"authorization\\":\\"Bearer abcd1234efgh\\"}',
      '{\\"authorization\\":\\"Bearer «redacted:authorization»\\"}',
    ],
    [
      `curl -H "Authorization: token abcd1234efgh" -v`,
      `curl -H "Authorization: token «redacted:authorization»" -v`,
    ],
    [`curl -H 'Cookie: a=b; c="d"' -v`, `curl -H 'Cookie: «redacted:cookie»' -v`],
    [
      'Authorization: Digest username="u", response="6629fae49393a05397450978507c4ef1"\nA: b',
      "Authorization: Digest «redacted:authorization»\nA: b",
    ],
    [
      "headers['Authorization'] = 'Bearer abcd1234efgh'",
      "headers['Authorization'] = 'Bearer «redacted:authorization»'",
    ],
  ])("%s", (text, expected) => {
    expect(redact(text)).toBe(expected);
    expect(redact(text, { code: true })).toBe(expected);
  });

  test.each([
    `Authorization: Bearer \${TOKEN}`,
    "Authorization: Bearer <your token here>",
    'headers: { Authorization: "Bearer " + token }',
    `headers: { authorization: \`Bearer \${token}\` }`,
    "const headers = { authorization: accessToken, accept };",
    'headers["x-api-key"] = readKeyFromDisk(path)',
    "authorization: string;",
    "Authorization: every request needs this header.",
    "Cookie: we only use the necessary ones.",
  ])("without a credential stays unchanged: %s", (text) => expect(redact(text)).toBe(text));
});

describe("an assignment", () => {
  const hidden = "«redacted:secret-value»";
  test.each([
    ["DB_PASSWORD=hunter2", `DB_PASSWORD=${hidden}`],
    ["export STRIPE_SECRET='a b c'; ls", `export STRIPE_SECRET='${hidden}'; ls`],
    ["A=1\nSECRET_KEY_BASE=0123abcd\nB=2", `A=1\nSECRET_KEY_BASE=${hidden}\nB=2`],
    ["docker run -e API_KEY_PROD=abcdef image", `docker run -e API_KEY_PROD=${hidden} image`],
    ["MYSQL_PWD=hunter2", `MYSQL_PWD=${hidden}`],
    ["AUTHTOKEN=correct.horse", `AUTHTOKEN=${hidden}`],
    ["password: hunter2", `password: ${hidden}`],
    ["  password: hunter2   # of the staging database", `  password: ${hidden}   # of the staging database`],
    ["spring.datasource.password=hunter2", `spring.datasource.password=${hidden}`],
    ["aws_secret_access_key = abc/def+ghi", `aws_secret_access_key = ${hidden}`],
    ['client_secret = "hunter2"', `client_secret = "${hidden}"`],
    ['{"password":"hunter2","user":"me"}', `{"password":"${hidden}","user":"me"}`],
    ['{"password":"a\\"b\\\\","user":"me"}', `{"password":"${hidden}","user":"me"}`],
    [
      '{"apiKey": "hunter2", "accessToken": "hunter3"}',
      `{"apiKey": "${hidden}", "accessToken": "${hidden}"}`,
    ],
    ['"{\\"api_key\\": \\"hunter2\\", \\"n\\": 1}"', `"{\\"api_key\\": \\"${hidden}\\", \\"n\\": 1}"`],
    ['{"stdout":"A=1\\nAPI_TOKEN=hunter2\\nB=2"}', `{"stdout":"A=1\\nAPI_TOKEN=${hidden}\\nB=2"}`],
    ["//registry.example/:_authToken=hunter2", `//registry.example/:_authToken=${hidden}`],
    ["os.environ['API_KEY'] = 'hunter2'", `os.environ['API_KEY'] = '${hidden}'`],
    ["'password' => 'hunter2'", `'password' => '${hidden}'`],
    ["grant_type=x&client_secret=hunter2", `grant_type=x&client_secret=${hidden}`],
    ["PASSWORD=12345678", `PASSWORD=${hidden}`],
  ])("%s", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  test.each([
    ['DB_PASSWORD = "hunter2"', `DB_PASSWORD = "${hidden}"`],
    ["{ password: 'hunter2', user }", `{ password: '${hidden}', user }`],
    ['apiKey := "hunter2"', `apiKey := "${hidden}"`],
    ['login(user="me", password="hunter2")', `login(user="me", password="${hidden}")`],
    ['{"client_secret": "hunter2"}', `{"client_secret": "${hidden}"}`],
    ["os.environ['API_KEY'] = 'hunter2'", `os.environ['API_KEY'] = '${hidden}'`],
  ])("of a literal is redacted in code too: %s", (text, expected) => {
    expect(redact(text, { code: true })).toBe(expected);
  });

  test.each([
    "DB_PASSWORD=hunter2",
    "password: hunter2",
    "token = next_token",
    'password = ""',
    'password = "changeme"',
    'password = "xxxxxxxx"',
    'apiKey: "<your key>"',
    'API_KEY = "your-api-key"',
    `token = "\${TOKEN}"`,
    `token = f"{prefix}abc"`,
    'secret = os.environ["APP_SECRET"]',
    'secret = get_secret("app/secret")',
    'password: "Enter your password"',
    'token: "comma"',
    'type Token = "left" | "right"; interface A { token: "plus12" | "minus" }',
    'primaryKey: "user_id1"',
    'if (password === "hunter2") return;',
  ])("of anything but a literal stays unchanged in code: %s", (text) => {
    expect(redact(text, { code: true })).toBe(text);
  });

  test.each([
    "MAX_TOKENS=100",
    "TOKEN_LIMIT: 5",
    "SSH_KEY_PATH=/home/me/.ssh/id_ed25519",
    "PWD=/home/me",
    "KEY_ENTER=enter",
    "API_KEY=",
    "API_KEY=\nOTHER=hello",
    "API_KEY=$API_KEY",
    `API_KEY=\${API_KEY:-none}`,
    'API_KEY="$(cat key.txt)"',
    `token: \${{ secrets.GITHUB_TOKEN }}`,
    "const api_key = process.env.API_KEY;",
    'API_KEY=os.environ["KEY"]',
    'api_key = os.getenv("API_KEY")',
    "SECRET=true",
    "secret: null",
    "PASSWORD=1234",
    "password: string",
    "login(user: string, password: string): void",
    "def login(user, password: str = None):",
    "id-token: write",
    '"primary_key": "user_id", "nextToken": "abcdef", "cacheKey": "abcdef"',
    "const token = parser.next();",
    "this.token = token;",
    "password: must be at least 8 characters",
    'console.log("password:", password);',
    'if (token === "abcdef") return;',
    "if token == other_token:",
    "TOKEN_URL=https://example.com/oauth/token",
    "constructor: hello",
    "toString=hello",
    '"required": ["password", "token"]',
    '"password": { "type": "string" }',
  ])("of something else stays unchanged: %s", (text) => expect(redact(text)).toBe(text));
});

describe("a URL", () => {
  test.each([
    ["postgres://user:pw@host:5432/db", "postgres://user:«redacted:url-password»@host:5432/db"],
    ["redis://:hunter2@host/0", "redis://:«redacted:url-password»@host/0"],
    ["https://me:p@ss@host/x?a=b#c", "https://me:«redacted:url-password»@host/x?a=b#c"],
    ["https:\\/\\/me:hunter2@host\\/x", "https:\\/\\/me:«redacted:url-password»@host\\/x"],
    ["git clone https://0123456789abcdef0123456789@host/r", "git clone https://«redacted:url-token»@host/r"],
  ])("loses only its password: %s", (text, expected) => {
    expect(redact(text)).toBe(expected);
    expect(redact(text, { code: true })).toBe(expected);
  });

  test.each([
    `https://app.example/magic?token=eyJ${run.slice(0, 20)}.eyJ${run.slice(0, 30)}.${run.slice(0, 43)}`,
    "https://app.example/callback?code=4%2F0AX4XfWh&state=xyz&access_token=ya29abcdef#id_token=abcdef",
    `https://bucket.s3.amazonaws.com/k?X-Amz-Credential=AKIA${"ABCD2345".repeat(2)}%2F20260101&X-Amz-Signature=0a1b`,
    '{"url":"https:\\/\\/app.example\\/?api_key=abcdef\\u0026password=hunter2"}',
    `ssh://git@host/repo.git and postgres://user@host/db and postgres://user:\${PASSWORD}@host/db`,
    "http://host:8080/path/@scope/package",
  ])("agent M4: with a query or without a secret stays unchanged: %s", (text) =>
    expect(redact(text)).toBe(text),
  );

  test.each([
    `https://api.example/x?access_token=ghp_${run.slice(0, 36)}&a=b`,
    `https://ann:hunter22@db.example/x?t=ghp_${run.slice(0, 36)}`,
    `GET https://api.example/v1?key=AIza${run.slice(0, 35)} failed`,
    `Error: https://api.example/#token=sk-ant-${run.slice(0, 30)}\n    at x.js:1:7`,
  ])("hides the long-lived key of a vendor in its query: %s", (text) => {
    const shown = redact(text);
    expect(shown).not.toContain(run.slice(0, 20));
    expect(shown).toMatch(/example\/.*«redacted:[a-z]+-(?:token|key)»/);
    expect(redact(shown)).toBe(shown);
  });

  test("ends at an escaped newline in JSON, so that the next line is not treated as its query", () => {
    expect(redact('{"out":"https://a.b/?c=d\\nAPI_KEY=hunter2"}')).toBe(
      '{"out":"https://a.b/?c=d\\nAPI_KEY=«redacted:secret-value»"}',
    );
  });
});

describe("a known value", () => {
  const secret = 'tröt "/+~ 7!';
  const known = createRedactor({ secrets: [secret, "short", ""] });
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  test.each([
    ["plain", secret],
    ["in JSON", JSON.stringify(secret).slice(1, -1)],
    ["in JSON in JSON", JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    ["in a query", encodeURIComponent(secret)],
    ["in a query, lower-cased", encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase())],
    ["in a form", new URLSearchParams({ a: secret }).toString().slice(2)],
    ["in base64", base64(secret)],
    ["in base64url", Buffer.from(secret).toString("base64url")],
  ])("is hidden %s", (_, form) => {
    expect(known.redact(`<${form}>`)).toBe("<«redacted:known-secret»>");
    expect(known.redact(`see https://a.b/?x=${form}`)).toBe("see https://a.b/?x=«redacted:known-secret»");
    expect(known.redact(form, { code: true })).toBe("«redacted:known-secret»");
  });

  test.each(["u:", "us:", "use:"])("is hidden in the base64 of a longer value (%s…)", (user) => {
    const encoded = base64(`${user}${secret}:more`);
    const redacted = known.redact(`x ${encoded} y`);
    expect(redacted).toMatch(/^x [\w+/]{2,6}«redacted:known-secret»[\w+/=]{2,12} y$/);
  });

  test("shorter than 8 characters stays unchanged", () => {
    expect(known.redact("a short text")).toBe("a short text");
  });

  test("that overlaps another known value is hidden together with it", () => {
    const { redact } = createRedactor({ secrets: ["abcdefgh", "efghijkl", "cdefg-xx"] });
    expect(redact("1abcdefghijkl2")).toBe("1«redacted:known-secret»2");
  });

  test("that is part of a token does not leave the rest of the token readable", () => {
    const { redact } = createRedactor({ secrets: ["abcdefgh"] });
    expect(redact(`ghp_${run.slice(0, 20)}abcdefgh${run.slice(0, 8)}`)).toBe("«redacted:github-token»");
  });

  test("that is a URL hides the query that follows it", () => {
    const { redact } = createRedactor({ secrets: ["https://hooks.example/T0/B0/xyz"] });
    expect(redact("POST https://hooks.example/T0/B0/xyz?thread=1 200")).toBe(
      "POST «redacted:known-secret» 200",
    );
  });
});

test("agent M4: a mark is recognised, so that it is not written into a file", () => {
  expect(containsRedactionMark(redact("DB_PASSWORD=hunter2"))).toBe(true);
  expect(containsRedactionMark("DB_PASSWORD=hunter2 «quoted» redacted:x")).toBe(false);
});
