import { expect, test } from "vitest";
import { openDashboardLab } from "../../../test/support/dashboard-lab.ts";
import { DASHBOARD_ROUTES } from "../routes.ts";

const never = new AbortController().signal;
const pathOf = (path: string): string => path.replace(/:\w+/g, "some-name");

test("A2: every route but those of the sign-in is refused without a session, and the pages contain no data", async () => {
  await using lab = await openDashboardLab();
  for (const { method, path, scope } of DASHBOARD_ROUTES) {
    if (scope === "none") continue;
    for (const headers of [{}, { Cookie: `hermes_${lab.port}=${"x".repeat(43)}` }]) {
      const answer = await lab.send(pathOf(path), { method, headers });
      expect([path, answer.status]).toEqual([path, 401]);
      expect(answer.json()).toMatchObject({ code: "signed-out" });
    }
  }
  expect((await lab.send("/api/nothing")).status).toBe(401);
  expect((await lab.send("/api/me")).json()).toEqual({ signedIn: false, ways: ["link"] });
  for (const path of ["/", "/board/main", "/enter"]) {
    const page = await lab.send(path);
    expect([page.status, page.text]).toEqual([
      200,
      '<!doctype html><html><head><base href="/"><title>Hermes</title></head></html>',
    ]);
  }
});

test("A3: a good code gives a cookie that scripts and other ports' pages cannot use", async () => {
  await using lab = await openDashboardLab();
  const code = await lab.logins.createCode(["read"], never);
  const answer = await lab.send("/api/enter", { json: { code } });
  expect(answer.status).toBe(204);
  const [cookie = ""] = answer.headers["set-cookie"] ?? [];
  expect(cookie).toMatch(
    new RegExp(`^hermes_${lab.port}=[\\w-]{43}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict$`),
  );
  const me = await lab.send("/api/me", { headers: { Cookie: cookie.split(";")[0] ?? "" } });
  expect(me.json()).toMatchObject({ signedIn: true, scopes: ["read"], insecure: false });
  expect(me.text).not.toContain(code);
});

test("A4: a used and a wrong code get the same answer, and the eleventh attempt none", async () => {
  await using lab = await openDashboardLab();
  const code = await lab.logins.createCode(["read"], never);
  await lab.send("/api/enter", { json: { code } });
  const used = await lab.send("/api/enter", { json: { code } });
  const wrong = await lab.send("/api/enter", { json: { code: "x".repeat(22) } });
  expect([used.status, used.text]).toEqual([401, wrong.text]);
  for (let attempt = 4; attempt <= 10; attempt += 1)
    expect((await lab.send("/api/enter", { json: { code: "x" } })).status).toBe(401);
  expect((await lab.send("/api/enter", { json: { code: "x" } })).status).toBe(429);
});

test("A9: a request for a foreign host is refused before anything else", async () => {
  await using lab = await openDashboardLab({ allowed_hosts: ["hermes.lan"] });
  const statusFor = async (host: string, path = "/"): Promise<number> =>
    (await lab.send(path, { headers: { Host: host } })).status;
  for (const host of ["127.0.0.1", "localhost", "[::1]"])
    expect(await statusFor(`${host}:${lab.port}`)).toBe(200);
  expect(await statusFor(`hermes.lan:${lab.port}`)).toBe(200);
  for (const host of [
    "evil.example",
    `evil.example:${lab.port}`,
    "127.0.0.1:1",
    `127.0.0.1.evil.example:${lab.port}`,
  ])
    for (const path of ["/", "/api/me", "/assets/app-1a2b.js"])
      expect([host, await statusFor(host, path)]).toEqual([host, 400]);
});
