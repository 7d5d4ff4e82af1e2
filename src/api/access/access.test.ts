import { mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { openDashboardLab } from "../../../test/support/dashboard-lab.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { toApiError } from "../api-error.ts";
import { DASHBOARD_SCOPES } from "../contract/scopes.ts";
import { createDashboardGate, type DashboardGateParts } from "../dashboard/dashboard-gate.ts";
import type { DashboardRoute } from "../dashboard/dashboard-route.ts";
import { DASHBOARD_ROUTES } from "../dashboard/dashboard-routes.ts";
import { dashboardOptions } from "../options.ts";
import { chooseAccess } from "./access-mode.ts";
import { createRateLimit } from "./rate-limit.ts";

const PASSWORD = "correct horse battery";
const pathOf = ({ path }: DashboardRoute): string => path.replace(/:\w+/g, "some-name");
const closed = DASHBOARD_ROUTES.filter(({ scope }) => scope !== "none");

test("A2: every route but those of the sign-in is refused without a session, and the pages contain no data", async () => {
  await using lab = await openDashboardLab();
  expect(closed.length).toBeGreaterThan(2);
  for (const row of closed) {
    for (const headers of [{}, { Cookie: `hermes_${lab.port}=${"x".repeat(43)}` }]) {
      const answer = await lab.send(pathOf(row), { method: row.method, headers });
      expect([row.path, answer.status]).toEqual([row.path, 401]);
      expect(answer.json()).toMatchObject({ code: "signed-out" });
    }
  }
  expect((await lab.send("/api/nothing")).status).toBe(401);
  expect((await lab.send("/api/me", { method: "DELETE" })).status).toBe(401);
  expect((await lab.send("/api/me")).json()).toEqual({ signedIn: false, ways: ["link"] });
  for (const path of ["/", "/board/main", "/enter"]) {
    const page = await lab.send(path);
    expect([page.status, page.text]).toEqual([
      200,
      '<!doctype html><html><head><base href="/"><title>Hermes</title></head></html>',
    ]);
  }
});

test("A3: a good code gives a cookie that scripts cannot read and whose content is not stored", async () => {
  await using lab = await openDashboardLab();
  const code = await lab.signIns.createCode(["read"], neverAborted);
  const answer = await lab.send("/api/enter", { json: { code } });
  expect(answer.status).toBe(204);
  const [cookie = ""] = answer.headers["set-cookie"] ?? [];
  expect(cookie).toMatch(
    new RegExp(`^hermes_${lab.port}=[\\w-]{43}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict$`),
  );
  const me = await lab.send("/api/me", { headers: { Cookie: cookie.split(";")[0] ?? "" } });
  expect(me.json()).toMatchObject({ signedIn: true, scopes: ["read"], insecure: false });
  expect((await stat(lab.folder.file("dashboard.sqlite"))).mode & 0o777).toBe(0o600);
});

test("A3: a sign-in holds for 30 days from its last use, and signing out ends it at once", async () => {
  const clock = new TurnableClock();
  await using lab = await openDashboardLab({}, { clock });
  const cookie = await lab.signIn();
  const isIn = async () => (await lab.send("/api/me", { headers: { Cookie: cookie } })).json()["signedIn"];
  const DAY_MS = 24 * 3_600_000;
  await clock.advance(29 * DAY_MS);
  expect(await isIn()).toBe(true);
  await clock.advance(29 * DAY_MS);
  expect(await isIn()).toBe(true);
  await clock.advance(31 * DAY_MS);
  expect(await isIn()).toBe(false);
  const second = await lab.signIn();
  const out = await lab.send("/api/sign-out", { method: "POST", headers: { Cookie: second } });
  expect([out.status, out.headers["set-cookie"]?.[0]]).toEqual([204, expect.stringContaining("Max-Age=0")]);
  expect((await lab.send("/api/sign-out", { method: "POST", headers: { Cookie: second } })).status).toBe(401);
});

test("A4: a used, a late and a wrong code get the same answer, and the eleventh attempt none", async () => {
  const clock = new TurnableClock();
  await using lab = await openDashboardLab({}, { clock });
  const [used, late] = [
    await lab.signIns.createCode(["read"], neverAborted),
    await lab.signIns.createCode(["read"], neverAborted),
  ];
  await lab.send("/api/enter", { json: { code: used } });
  await clock.advance(10 * 60_000);
  const answers = [];
  for (const code of [used, late, "x".repeat(22)])
    answers.push(await lab.send("/api/enter", { json: { code } }));
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  for (let attempt = 4; attempt <= 10; attempt += 1)
    expect((await lab.send("/api/enter", { json: { code: "x" } })).status).toBe(401);
  expect((await lab.send("/api/enter", { json: { code: "x" } })).status).toBe(429);
  await clock.advance(60_000);
  expect((await lab.send("/api/enter", { json: { code: "x" } })).status).toBe(401);
});

test("A4: of two browsers that use one code at once, one is signed in", async () => {
  await using lab = await openDashboardLab();
  const code = await lab.signIns.createCode(["read"], neverAborted);
  const answers = await Promise.all([1, 2, 3, 4].map(() => lab.send("/api/enter", { json: { code } })));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 401, 401, 401]);
});

test.each([
  [{ host: "0.0.0.0" }, "dashboard.host (0.0.0.0)"],
  [{ host: "192.168.1.5" }, "dashboard.host (192.168.1.5)"],
  [{ host: "::" }, "dashboard.host (::)"],
  [{ public_url: "https://hermes.example/x" }, "dashboard.public_url (https://hermes.example/x)"],
])("A6: with %j and no password, the dashboard does not start", async (settings, named) => {
  const opening = chooseAccess(dashboardOptions.parse(settings));
  await expect(opening).rejects.toMatchObject({
    code: "dashboard-exposed",
    exitCode: 78,
    message: expect.stringContaining(named),
  });
});

test("A7: where others can reach the dashboard, only the password signs in", async () => {
  const exposed = { public_url: "https://hermes.example", basic_auth: { password: PASSWORD } };
  await using lab = await openDashboardLab(exposed);
  expect((await lab.send("/api/me")).json()).toEqual({ signedIn: false, ways: ["password"] });
  const code = await lab.signIns.createCode(["read"], neverAborted);
  expect((await lab.send("/api/enter", { json: { code } })).status).toBe(401);
  const right = await lab.send("/api/sign-in", { json: { name: "admin", password: PASSWORD } });
  expect(right.status).toBe(204);
});

test("A8: with the gate off, everybody may read, nobody may change anything, and every page shows a warning", async () => {
  await using lab = await openDashboardLab({ insecure: true, host: "127.0.0.1" });
  expect((await lab.send("/api/me")).json()).toMatchObject({ insecure: true, scopes: ["read"] });
  for (const row of closed.filter(({ scope }) => scope !== "read")) {
    const answer = await lab.send(pathOf(row), { method: row.method });
    expect([row.path, answer.status]).toEqual([row.path, 403]);
  }
  expect((await chooseAccess(dashboardOptions.parse({ insecure: true, host: "0.0.0.0" }))).ways).toEqual([]);
});

test("A9: a request for a foreign host is refused before anything else", async () => {
  await using lab = await openDashboardLab({ allowed_hosts: ["hermes.lan"] });
  const statusFor = async (host: string, path = "/"): Promise<number> =>
    (await lab.send(path, { headers: { Host: host } })).status;
  for (const name of ["127.0.0.1", "localhost", "[::1]", "hermes.lan", "HERMES.lan"])
    expect(await statusFor(`${name}:${lab.port}`)).toBe(200);
  const foreign = [
    "evil.example",
    `evil.example:${lab.port}`,
    "127.0.0.1:1",
    `127.0.0.1.evil.example:${lab.port}`,
  ];
  for (const host of [
    ...foreign,
    "127.0.0.1",
    `127.0.0.1:${lab.port}@evil.example`,
    `2130706433:${lab.port}`,
  ])
    for (const path of ["/", "/api/me", "/assets/app-1a2b.js"])
      expect([host, path, await statusFor(host, path)]).toEqual([host, path, 400]);
});

test("A9: bound to all addresses, the server accepts only the address that was reached as its name", async () => {
  await using lab = await openDashboardLab({ host: "0.0.0.0", basic_auth: { password: PASSWORD } });
  const statusFor = async (host: string) => (await lab.send("/", { headers: { Host: host } })).status;
  expect(await statusFor(`127.0.0.1:${lab.port}`)).toBe(200);
  expect(await statusFor(`127.0.0.2:${lab.port}`)).toBe(400);
  expect(await statusFor(`evil.example:${lab.port}`)).toBe(400);
});

test("A10: a request of a foreign page is refused on every route, even with the cookie", async () => {
  await using lab = await openDashboardLab();
  const Cookie = await lab.signIn();
  const own = `http://127.0.0.1:${lab.port}`;
  const foreign = [
    { Origin: "https://evil.example" },
    { Origin: "null" },
    { Origin: `http://127.0.0.1:${lab.port + 1}` },
    { Origin: `https://127.0.0.1:${lab.port}` },
    { Origin: own, "Sec-Fetch-Site": "cross-site" },
    { Origin: own, "Sec-Fetch-Site": "same-site" },
  ];
  for (const row of DASHBOARD_ROUTES)
    for (const headers of foreign) {
      const answer = await lab.send(pathOf(row), { method: row.method, headers: { Cookie, ...headers } });
      expect([row.path, headers, answer.status]).toEqual([row.path, headers, 403]);
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    }
  const same = { Cookie, Origin: own, "Sec-Fetch-Site": "same-origin" };
  expect((await lab.send("/api/sign-out", { method: "POST", headers: same })).status).toBe(204);
});

test("A11: a write without the header of our pages, or with the type of a form, is refused", async () => {
  await using lab = await openDashboardLab();
  const Cookie = await lab.signIn();
  for (const row of DASHBOARD_ROUTES.filter(({ method }) => method !== "GET")) {
    const bare = await lab.send(pathOf(row), { method: row.method, headers: { Cookie, "X-Hermes": "" } });
    expect([row.path, bare.status]).toEqual([row.path, 415]);
    if (row.body === undefined) continue;
    for (const type of [
      "application/x-www-form-urlencoded",
      "text/plain",
      "multipart/form-data; boundary=x",
    ]) {
      const headers = { Cookie, "Content-Type": type };
      const form = await lab.send(pathOf(row), { method: row.method, headers, body: "{}" });
      expect([row.path, type, form.status]).toEqual([row.path, type, 415]);
    }
  }
  const preflight = await lab.send("/api/enter", {
    method: "OPTIONS",
    headers: { Origin: "https://evil.example" },
  });
  expect(Object.keys(preflight.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
});

test("A12: a row without a scope keeps the server from starting", () => {
  const { scope: _, ...row } = DASHBOARD_ROUTES[0] as DashboardRoute;
  const build = () => createDashboardGate([row as DashboardRoute], {} as DashboardGateParts);
  expect(build).toThrow("has no scope");
});

test("A13: a session with all other scopes is refused, and the answer names the missing scope", async () => {
  await using lab = await openDashboardLab();
  const cookies = new Map<string, string>();
  for (const scope of DASHBOARD_SCOPES)
    cookies.set(scope, await lab.signIn(DASHBOARD_SCOPES.filter((other) => other !== scope)));
  for (const row of closed) {
    const answer = await lab.send(pathOf(row), {
      method: row.method,
      headers: { Cookie: cookies.get(row.scope) ?? "" },
    });
    expect([row.path, answer.status]).toEqual([row.path, 403]);
    expect(answer.json()).toMatchObject({
      code: "scope-missing",
      message: expect.stringContaining(`scope ${row.scope}`),
    });
  }
});

test("A15: a wrong name and a wrong password get the same answer, the eleventh attempt none, and each is recorded", async () => {
  await using lab = await openDashboardLab({ basic_auth: { username: "ada", password: PASSWORD } });
  const attempt = (name: string, password: string) => lab.send("/api/sign-in", { json: { name, password } });
  const [name, word] = [await attempt("bob", PASSWORD), await attempt("ada", `${PASSWORD}!`)];
  expect([name.status, word.status]).toEqual([401, 401]);
  expect(name.text).toBe(word.text);
  const right = await attempt("ada", PASSWORD);
  const Cookie = right.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
  const me = await lab.send("/api/me", { headers: { Cookie } });
  expect(me.json()).toMatchObject({ name: "ada", scopes: [...DASHBOARD_SCOPES] });
  for (let count = 4; count <= 10; count += 1) await attempt("ada", "x");
  expect((await attempt("ada", PASSWORD)).status).toBe(429);
  const audit = await lab.readAudit();
  expect(audit).toContain('"detail":"password-refused"');
  expect(audit).not.toContain(PASSWORD);
});

test("A17: no answer leads to another address", async () => {
  await using lab = await openDashboardLab();
  for (const path of [
    "/enter?next=https://evil.example",
    "/sign-in?next=//evil.example",
    "//evil.example/",
    "/api/me",
  ])
    expect((await lab.send(path)).headers["location"]).toBeUndefined();
});

const FORWARDED = {
  "X-Forwarded-Prefix": "/tools/hermes",
  "X-Forwarded-Proto": "https",
  "X-Forwarded-For": "203.0.113.7, 10.1.1.1",
};

test("A18: forwarded headers count only from a trusted proxy", async () => {
  await using lab = await openDashboardLab();
  expect((await lab.send("/", { headers: FORWARDED })).text).toContain('<base href="/">');
  const plain = await lab.signIns.createCode(["read"], neverAborted);
  const stranger = await lab.send("/api/enter", { json: { code: plain }, headers: FORWARDED });
  expect(stranger.headers["set-cookie"]?.[0]).toMatch(/^hermes_\d+=.*Path=\/;/);

  await using behind = await openDashboardLab({ trusted_proxies: ["127.0.0.0/8", "10.0.0.0/8"] });
  expect((await behind.send("/board/x", { headers: FORWARDED })).text).toContain(
    '<base href="/tools/hermes/">',
  );
  const code = await behind.signIns.createCode(["read"], neverAborted);
  const through = await behind.send("/tools/hermes/api/enter", { json: { code }, headers: FORWARDED });
  expect(through.headers["set-cookie"]?.[0]).toMatch(
    /^__Secure-hermes_\d+=[\w-]{43}; Path=\/tools\/hermes; .*; Secure$/,
  );
  const Cookie = through.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
  const me = await behind.send("/api/me", { headers: { ...FORWARDED, Cookie } });
  expect(me.json()).toMatchObject({ signedIn: true });
  expect(await behind.readAudit()).toContain('"address":"203.0.113.7"');
  const hostile = [
    '"><script>',
    "/a/../b",
    "//evil.example",
    "/a b",
    "/api",
    "/assets/x",
    `/${"x/".repeat(200)}`,
  ];
  for (const prefix of hostile) {
    const page = await behind.send("/", { headers: { ...FORWARDED, "X-Forwarded-Prefix": prefix } });
    expect([prefix, page.text]).toEqual([prefix, expect.stringContaining('<base href="/">')]);
  }
});

test("A18: at the root over HTTPS, the cookie has a name that browsers bind to this host", async () => {
  const settings = { public_url: "https://hermes.example", basic_auth: { password: PASSWORD } };
  await using lab = await openDashboardLab(settings);
  const headers = { Host: "hermes.example", Origin: "https://hermes.example" };
  const answer = await lab.send("/api/sign-in", { json: { name: "admin", password: PASSWORD }, headers });
  expect(answer.headers["set-cookie"]?.[0]).toMatch(/^__Host-hermes_\d+=[\w-]{43}; Path=\/; .*; Secure$/);
});

test("A19: a restart signs nobody out", async () => {
  await using lab = await openDashboardLab();
  const Cookie = await lab.signIn();
  await lab.restart();
  expect((await lab.send("/api/me", { headers: { Cookie } })).json()).toMatchObject({ signedIn: true });
});

test("A20: every answer forbids foreign scripts, frames, sniffing and referrers, and only hashed files are cached", async () => {
  await using lab = await openDashboardLab();
  const foreignHost = await lab.send("/", { headers: { Host: "evil.example" } });
  const answers = [foreignHost];
  for (const path of ["/", "/api/me", "/api/nothing", "/assets/app-1a2b.js", "/none.txt"])
    answers.push(await lab.send(path));
  for (const { headers } of answers) {
    expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" });
    const policy = headers["content-security-policy"];
    for (const part of ["script-src 'self';", "frame-ancestors 'none'", "require-trusted-types-for 'script'"])
      expect(policy).toContain(part);
  }
  const cached = answers.map(({ headers }) => headers["cache-control"]);
  expect(cached).toEqual([
    ...["no-store", "no-store", "no-store", "no-store"],
    ...["public, max-age=31536000, immutable", "no-store"],
  ]);
});

test("A21: no path leads out of the folder of the pages", async () => {
  await using lab = await openDashboardLab();
  await symlink(lab.folder.file("secret.txt"), lab.folder.file("app/assets/link.txt"));
  await mkdir(lab.folder.file("app/assets/empty"));
  await writeFile(lab.folder.file("app/index.html"), "<html><head></head></html>");
  const paths = [
    ...["/../secret.txt", "/assets/../../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt"],
    ...["/assets/%2e%2e%2f%2e%2e%2fsecret.txt", "/..%5csecret.txt", "/assets/link.txt", "/assets/empty"],
    ...[
      "//etc/passwd.txt",
      "/assets/%00",
      "/assets/app-1a2b.js%00.txt",
      "/etc/passwd%00.js",
      "/assets/%c0%ae.js",
    ],
  ];
  for (const path of paths) {
    const { status, text } = await lab.send(path);
    expect([path, text.includes("outside")]).toEqual([path, false]);
    expect([path, [400, 404]]).toEqual([path, expect.arrayContaining([status])]);
  }
  expect(await lab.send("/\\evil", {}).then(({ status }) => [400, 404].includes(status))).toBe(true);
});

test("A22: sign-ins, refusals and sign-outs are recorded, and a flood of refusals does not push them out", async () => {
  await using lab = await openDashboardLab();
  const Cookie = await lab.signIn();
  await lab.send("/api/sign-out", { method: "POST", headers: { Cookie } });
  await lab.send("/api/enter", { json: { code: "wrong-code" } });
  await lab.send("/", { headers: { Host: "evil.example" } });
  const lines = (await lab.readAudit())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect(lines).toMatchObject([
    { msg: "sign-in", outcome: "done", login: "link", address: "127.0.0.1" },
    { msg: "sign-out", outcome: "done", login: "link" },
    { msg: "POST /api/enter", outcome: "refused", detail: "code-refused" },
    { msg: "connect", outcome: "refused", detail: "host-foreign" },
  ]);
  for (let count = 0; count < 150; count += 1) await lab.send("/", { headers: { Host: "evil.example" } });
  const all = await lab.readAudit();
  expect(all.split("\n").length).toBeLessThan(110);
  expect(all).not.toContain("wrong-code");
  expect((await stat(lab.folder.file("logs/dashboard-audit.log"))).mode & 0o777).toBe(0o600);
});

test("A4: the addresses of one network of IPv6 count as one", () => {
  const limit = createRateLimit(() => 0);
  const attempts = (addresses: readonly string[]) => addresses.map((address) => limit.allows(address));
  const own = Array.from({ length: 10 }, (_, index) => `2001:db8:1:2::${index + 1}`);
  expect(attempts(own)).toEqual(own.map(() => true));
  expect(attempts(["2001:db8:1:2:a:b:c:d", "2001:db8:1:3::1", "2001:db8::1", "127.0.0.1"])).toEqual([
    ...[false, true, true, true],
  ]);
});

test("the settings refuse a weak password and a text that is not a hash", () => {
  for (const path of ["api", "assets/x"])
    expect(dashboardOptions.safeParse({ public_url: `https://hermes.example/${path}` }).success).toBe(false);
  for (const auth of [{ password: "short" }, { password_hash: "plain" }])
    expect(dashboardOptions.safeParse({ basic_auth: auth }).success).toBe(false);
});

test("a full disk refuses new sign-ins with a reason, and keeps those that exist", async () => {
  await using lab = await openDashboardLab();
  const Cookie = await lab.signIn();
  const { database } = lab.signIns;
  const size = database.prepare<{ page_count: number }>("pragma page_count").get()?.page_count ?? 0;
  database.prepare(`pragma max_page_count = ${size}`).get();
  const refusal = await lab.signIns
    .add("x".repeat(1_000_000), ["read"], neverAborted)
    .catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: "database-unavailable" });
  expect(toApiError(refusal)).toMatchObject({ status: 503, code: "database_unavailable" });
  expect((await lab.send("/api/me", { headers: { Cookie } })).json()).toMatchObject({ signedIn: true });
});
