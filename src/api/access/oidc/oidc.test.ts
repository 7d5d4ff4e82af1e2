import { expect, test } from "vitest";
import { openDashboardLab } from "../../../../test/support/dashboard-lab.ts";
import { OIDC_CLIENT, openScriptedOidc } from "../../../../test/support/scripted-oidc.ts";
import { TurnableClock } from "../../../../test/support/turnable-clock.ts";
import { dashboardOptions } from "../../options.ts";
import { chooseAccess } from "../access-mode.ts";

type Options = Parameters<typeof openDashboardLab>[0];
const ALLOWED = ["alice@example.org"];

/** A provider, and a dashboard that uses it. */
async function openOidcLab(
  settings: Options = {},
  allowed: readonly string[] = ALLOWED,
  clock = new TurnableClock(),
) {
  const provider = await openScriptedOidc();
  const oidc = { issuer: provider.issuer, ...OIDC_CLIENT, allowed_users: [...allowed] };
  const lab = await openDashboardLab({ ...settings, oidc }, { clock });
  const start = async (next?: string) => {
    const answer = await lab.send("/api/oidc/start", { json: next === undefined ? {} : { next } });
    const cookie = (answer.headers["set-cookie"]?.[0] ?? "").split(";")[0] ?? "";
    return { answer, cookie, url: answer.status === 200 ? String(answer.json()["url"]) : "" };
  };
  const goBack = (back: URL, cookie: string) =>
    lab.send(back.pathname + back.search, {
      headers: { Cookie: cookie, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" },
    });
  return {
    ...{ provider, lab, clock, start, goBack },
    async signIn(next?: string) {
      const { url, cookie } = await start(next);
      return goBack(provider.authorize(url), cookie);
    },
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const problemOf = (answer: { headers: Record<string, unknown> }): string =>
  /sign-in-problem=([\w-]+)/.exec(String(answer.headers["location"]))?.[1] ?? "none";

test("A16: a person of the list is signed in with a code and PKCE, with a Lax cookie, and links are off", async () => {
  await using own = await openOidcLab();
  const { lab } = own;
  expect((await lab.send("/api/me")).json()).toEqual({
    ...{ signedIn: false, ways: ["oidc"], provider: new URL(own.provider.issuer).host },
  });
  const { url } = await own.start();
  const asked = new URL(url).searchParams;
  expect(asked.get("code_challenge_method")).toBe("S256");
  expect(asked.get("redirect_uri")).toBe(`http://127.0.0.1:${lab.port}/api/oidc/back`);

  const answer = await own.signIn("/board/main?q=x");
  expect([answer.status, answer.headers["location"]]).toEqual([302, "/board/main?q=x"]);
  const cookies = answer.headers["set-cookie"] ?? [];
  const cookie = cookies.find((line) => line.startsWith(`hermes_${lab.port}=`)) ?? "";
  expect(cookie).toMatch(/; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
  const me = await lab.send("/api/me", { headers: { Cookie: cookie.split(";")[0] ?? "" } });
  expect(me.json()).toMatchObject({
    signedIn: true,
    name: "Alice",
    scopes: ["read", "work", "shell", "admin"],
  });
  const code = await lab.signIns.createCode(["read"], new AbortController().signal);
  expect((await lab.send("/api/enter", { json: { code } })).status).toBe(401);
  const audit = await lab.readAudit();
  expect(audit).toContain('"login":"Alice"');
  expect(audit).not.toContain(OIDC_CLIENT.client_secret);
});

const now = Math.floor(Date.now() / 1_000);
const FAULTS = [
  ["a signature of another key", { isForged: true }],
  ["no signature", { isUnsigned: true }],
  ["another issuer", { claims: { iss: "https://example.org" } }],
  ["another audience", { claims: { aud: "other" } }],
  ["two audiences without an authorised one", { claims: { aud: ["hermes", "other"] } }],
  ["an expired token", { claims: { exp: now - 3_600 } }],
  ["another nonce", { claims: { nonce: "other" } }],
  ["no nonce", { claims: { nonce: undefined } }],
  ["no subject", { claims: { sub: undefined } }],
] as const;

test("A16: a token with any fault signs nobody in and leads to the sign-in page", async () => {
  await using own = await openOidcLab({}, ["*"]);
  expect(problemOf(await own.signIn())).toBe("none");
  for (const [name, fault] of FAULTS) {
    Object.assign(own.provider.script, { claims: {}, isForged: false, isUnsigned: false }, fault);
    own.clock.advance(60_000);
    const answer = await own.signIn();
    expect([name, answer.status, problemOf(answer)]).toEqual([name, 302, "invalid"]);
    expect(answer.headers["set-cookie"]?.join()).not.toContain(`hermes_${own.lab.port}=`);
  }
  expect(await own.lab.readAudit()).toContain("oidc invalid");
});

test("A16: an answer counts once, in the browser that started, with its state, within ten minutes", async () => {
  await using own = await openOidcLab();
  const { url, cookie } = await own.start();
  const back = own.provider.authorize(url);
  expect(problemOf(await own.goBack(back, ""))).toBe("expired"); // another browser

  const wrong = new URL(back);
  wrong.searchParams.set("state", "other");
  expect(problemOf(await own.goBack(wrong, cookie))).toBe("invalid");
  expect(problemOf(await own.goBack(back, cookie))).toBe("expired"); // the first attempt has used it

  const again = await own.start();
  const denied = own.provider.authorize(again.url);
  denied.search = `?error=access_denied&state=${denied.searchParams.get("state")}`;
  expect(problemOf(await own.goBack(denied, again.cookie))).toBe("denied");

  const late = await own.start();
  own.clock.advance(10 * 60_000 + 1);
  expect(problemOf(await own.goBack(own.provider.authorize(late.url), late.cookie))).toBe("expired");
});

test("A16: only people of the list are let in, and an e-mail address counts only if it is verified", async () => {
  await using own = await openOidcLab({}, ["Alice@Example.org", "user-7"]);
  const enter = async (claims: object): Promise<string> => {
    own.clock.advance(60_000);
    own.provider.script.claims = { ...claims };
    return problemOf(await own.signIn());
  };
  expect(await enter({})).toBe("none");
  expect(await enter({ email_verified: false })).toBe("not-allowed");
  expect(await enter({ email_verified: "true" })).toBe("not-allowed");
  expect(await enter({ email: "mallory@example.org" })).toBe("not-allowed");
  expect(await enter({ sub: "user-7", email: undefined })).toBe("none");
  expect(await enter({ sub: "user-8", name: "user-7" })).toBe("none"); // Alice's address
  expect(await enter({ sub: "user-8", name: "user-7", email: "user-7" })).toBe("none");
});

test("A16: a provider that does not work is a 503, and signs nobody out", async () => {
  await using own = await openOidcLab();
  const answer = await own.signIn();
  const cookie =
    answer.headers["set-cookie"]?.find((line) => line.startsWith(`hermes_${own.lab.port}=`)) ?? "";
  const started = await own.start();
  own.provider.script.status = 502;
  const back = await own.goBack(own.provider.authorize(started.url), started.cookie);
  expect(back.status).toBe(503);
  expect(back.text).toContain("sign-in-problem=unreachable");
  await own.provider[Symbol.asyncDispose]();
  const me = await own.lab.send("/api/me", { headers: { Cookie: cookie.split(";")[0] ?? "" } });
  expect(me.json()).toMatchObject({ signedIn: true });

  await using fresh = await openOidcLab();
  fresh.provider.script.status = 500;
  expect((await fresh.start()).answer.status).toBe(503);
  await fresh.provider[Symbol.asyncDispose]();
  const refused = (await fresh.start()).answer;
  expect([refused.status, refused.json()["code"]]).toEqual([503, "provider-unreachable"]);
});

test("A17: after the sign-in, only a path of ours is opened", async () => {
  await using own = await openOidcLab();
  const bad = [
    "https://example.org/",
    "//example.org/",
    "/\\example.org",
    "javascript:alert(1)",
    "/api/sign-out",
    "/..//x.org",
  ];
  for (const next of bad) {
    own.clock.advance(60_000);
    expect([next, (await own.signIn(next)).headers["location"]]).toEqual([next, "/"]);
  }
});

test("A6, A7: a provider makes a public address possible, if it says who may sign in", async () => {
  const publicly = { public_url: "https://example.org/tools" };
  const oidc = { issuer: "https://id.example.org", client_id: "hermes", allowed_users: ["*"] };
  expect((await chooseAccess(dashboardOptions.parse({ ...publicly, oidc }))).ways).toEqual(["oidc"]);
  for (const missing of [{ client_id: "" }, { allowed_users: [] }, { issuer: "http://id.example.org" }])
    expect(dashboardOptions.safeParse({ oidc: { ...oidc, ...missing } }).success).toBe(false);
});
