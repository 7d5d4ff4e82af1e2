import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openGatewayHome } from "../support/gateway-lab.ts";
import { tempHome } from "../support/hermes.ts";

type Home = Awaited<ReturnType<typeof tempHome>>;

/** Starts a dashboard on a free port and waits until it has printed its address. */
async function startDashboard(
  home: Home,
  args: readonly string[] = ["--port", "0"],
  env: Readonly<Record<string, string>> = {},
) {
  const { child, ended } = home.start(["dashboard", "--no-open", ...args], { env });
  const printed = new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (piece: string) => {
      text += piece;
      if (text.includes("\n")) resolve(text.trim());
    });
    ended.then(({ stderr }) => reject(new Error(stderr)), reject);
  });
  const link = await printed;
  const [url = "", code = ""] = link.split("/enter#");
  return {
    ...{ link, url, code, pid: child.pid ?? 0, ended },
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

const enter = (url: string, code: string): Promise<Response> =>
  fetch(`${url}/api/enter`, {
    method: "POST",
    headers: { "X-Hermes": "1", "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
const cookieOf = (answer: Response): string => answer.headers.get("set-cookie")?.split(";")[0] ?? "";
const readMe = async (url: string, Cookie = ""): Promise<unknown> =>
  (await fetch(`${url}/api/me`, { headers: { Cookie } })).json();

test("A1: the dashboard prints a link that signs one browser in, once, and stops with exit code 0", async () => {
  await using home = await tempHome();
  await using dashboard = await startDashboard(home);
  expect(dashboard.link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/enter#[\w-]{22}$/);
  const answer = await enter(dashboard.url, dashboard.code);
  expect(answer.status).toBe(204);
  expect(await readMe(dashboard.url, cookieOf(answer))).toMatchObject({ signedIn: true, profile: "default" });
  expect((await enter(dashboard.url, dashboard.code)).status).toBe(401);
  expect(await (await fetch(dashboard.url)).text()).toContain('<base href="/">');
  dashboard.kill("SIGTERM");
  expect((await dashboard.ended).exitCode).toBe(0);
});

test("A5: neither the link nor the cookie is in a page, an argument, a variable, a log or a file", async () => {
  await using home = await tempHome();
  await using dashboard = await startDashboard(home);
  const cookie = cookieOf(await enter(dashboard.url, dashboard.code));
  const { stdout } = await home.hermes(["dashboard", "link"]);
  const secrets = [dashboard.code, cookie.split("=")[1] ?? "", stdout.trim().split("#")[1] ?? ""];
  expect(secrets.every((secret) => secret.length >= 22)).toBe(true);
  const places = new Map<string, string>([["page", await (await fetch(dashboard.url)).text()]]);
  for (const name of ["cmdline", "environ"])
    places.set(name, await readFile(`/proc/${dashboard.pid}/${name}`, "latin1"));
  for (const entry of await readdir(home.path, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) places.set(path, await readFile(path, "latin1"));
  }
  expect([...places.keys()].some((name) => name.endsWith("dashboard-audit.log"))).toBe(true);
  const found = [...places].filter(([, text]) => secrets.some((secret) => text.includes(secret)));
  expect(found.map(([name]) => name)).toEqual([]);
  expect([...places].find(([name]) => name.endsWith("dashboard-audit.log"))?.[1]).toContain('"msg":"link"');
});

test("A6: a dashboard that others could reach does not start without a password", async () => {
  await using home = await tempHome();
  const { exitCode, stderr } = await home.hermes(["dashboard", "--no-open", "--host", "192.0.2.1"]);
  expect([exitCode, stderr]).toEqual([78, expect.stringContaining("dashboard.host (192.0.2.1)")]);
});

test("A7: with a stored password, a dashboard with a public address starts and prints no link", async () => {
  await using home = await tempHome();
  const stored = await home.hermes(["dashboard", "password"], { stdin: "correct horse battery\n" });
  expect([stored.exitCode, stored.stderr]).toEqual([0, expect.stringContaining("Sign in as admin")]);
  expect(await readFile(join(home.path, ".env"), "utf8")).not.toContain("correct horse");
  const env = { HERMES_DASHBOARD_PUBLIC_URL: "https://hermes.example/tools" };
  await using dashboard = await startDashboard(home, ["--port", "0"], env);
  expect(dashboard.link).toBe("https://hermes.example/tools");
});

test("A8: with the gate off, the start prints a warning", async () => {
  await using home = await tempHome();
  await using dashboard = await startDashboard(home, ["--port", "0"], { HERMES_DASHBOARD_INSECURE: "1" });
  expect(await readMe(dashboard.url)).toMatchObject({ insecure: true, scopes: ["read"] });
  dashboard.kill("SIGTERM");
  expect((await dashboard.ended).stderr).toContain("everybody who reaches this address can read");
});

test("a home has one dashboard: a second command prints a link to it, also when it belongs to a gateway", async () => {
  await using home = await openGatewayHome({ answers: [] }, { dashboard: { enabled: true, port: 0 } });
  await using gateway = await home.run();
  await expect.poll(gateway.output).toContain("the dashboard is at http://127.0.0.1:");
  const { exitCode, stdout, stderr } = await home.hermes(["dashboard", "--no-open"]);
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining(`process ${gateway.pid}`)]);
  const [url = "", code = ""] = stdout.trim().split("/enter#");
  const cookie = cookieOf(await enter(url, code));
  expect(await readMe(url, cookie)).toMatchObject({ signedIn: true });
  const out = await home.hermes(["dashboard", "sign-out"]);
  expect(out.stderr).toContain("Signed out 1 browser");
  expect(await readMe(url, cookie)).toMatchObject({ signedIn: false });
  expect(gateway.output()).not.toContain("/enter#");
});

test("after a kill the next dashboard starts at once, and a port of another program is named", async () => {
  await using home = await tempHome();
  await using killed = await startDashboard(home);
  killed.kill("SIGKILL");
  await killed.ended;
  await using next = await startDashboard(home, ["--port", new URL(killed.url).port]);
  expect(next.url).toBe(killed.url);
  await using other = await tempHome();
  const refused = await other.hermes(["dashboard", "--no-open", "--port", new URL(next.url).port]);
  expect([refused.exitCode, refused.stderr]).toEqual([78, expect.stringContaining("already listens on")]);
  const stopped = await other.hermes(["dashboard", "link"]);
  expect([stopped.exitCode, stopped.stderr]).toEqual([1, expect.stringContaining("hermes dashboard")]);
});

test("the routes are listed for people and described for programs", async () => {
  await using home = await tempHome();
  const listed = await home.hermes(["dashboard", "routes"]);
  expect(listed.stdout).toMatch(/POST\s+\/api\/enter\s+none/);
  const { stdout } = await home.hermes(["dashboard", "routes", "--openapi"]);
  const api = JSON.parse(stdout) as { openapi: string; paths: Record<string, Record<string, object>> };
  expect(api.openapi).toBe("3.1.0");
  expect(api.paths["/api/events/{stream}/topics"]?.["put"]).toMatchObject({
    "x-scope": "read",
    requestBody: { required: true },
  });
});
