import { execFile } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { type GatewayHome, type GatewayProcess, openGatewayHome } from "../support/gateway-lab.ts";

const run = promisify(execFile);
const SETTINGS = { api_server: { port: 0 }, approvals: { mode: "off" } };
const WAIT = { tools: [{ name: "terminal", input: { command: "until [ -e go ]; do sleep 0.05; done" } }] };

const urlOf = (gateway: GatewayProcess): string => /http:\/\/\S+(?=\/v1)/.exec(gateway.output())?.[0] ?? "";
const readKey = async (home: GatewayHome): Promise<string> =>
  /^API_SERVER_KEY=(?<key>\S+)$/m.exec(await readFile(join(home.path, ".env"), "utf8"))?.groups?.["key"] ??
  "";

/** What curl prints; its exit code does not matter. */
async function curl(key: string, ...args: readonly string[]): Promise<string> {
  const options = [
    "-sN",
    "-H",
    `Authorization: Bearer ${key}`,
    "-H",
    "Content-Type: application/json",
    ...args,
  ];
  const { stdout } = await run("curl", options).catch((error: { stdout: string }) => error);
  return stdout;
}

test("api H2: a fresh home serves the API with a generated key, which stays in .env and appears nowhere else", async () => {
  await using home = await openGatewayHome({ answers: [{ text: "hello" }] }, SETTINGS);
  await using gateway = await home.run();
  const url = urlOf(gateway);
  const key = await readKey(home);
  expect(key).toMatch(/^hermes_[\w-]{43}$/);
  expect((await stat(join(home.path, ".env"))).mode & 0o777).toBe(0o600);
  const ask = ["-d", '{"messages":[{"role":"user","content":"hi"}]}', `${url}/v1/chat/completions`];
  expect(JSON.parse(await curl(key, ...ask))).toMatchObject({ choices: [{ message: { content: "hello" } }] });
  expect(JSON.parse(await curl("wrong", ...ask))).toMatchObject({ error: { code: "invalid_api_key" } });
  gateway.signal("SIGTERM");
  expect(await gateway.ended).toBe(0);
  expect(gateway.output()).not.toContain(key);
  for (const name of await readdir(join(home.path, "logs")))
    expect(await readFile(join(home.path, "logs", name), "utf8")).not.toContain(key);
  expect((await readFile(join(home.path, "api.sqlite"))).includes(key)).toBe(false);
  await using again = await home.run();
  expect(JSON.parse(await curl(key, `${urlOf(again)}/v1/models`))).toMatchObject({ object: "list" });
});

test("api H2: keys with scopes are added and removed while the server runs", async () => {
  await using home = await openGatewayHome({ answers: [] }, SETTINGS);
  await using gateway = await home.run();
  const url = urlOf(gateway);
  const added = await home.hermes(["gateway", "keys", "laptop", "--scope", "metrics"]);
  const key = added.stdout.trim();
  expect(await curl(key, `${url}/metrics`)).toContain("hermes_turns_active 0");
  expect(JSON.parse(await curl(key, "-d", "{}", `${url}/v1/runs`))).toMatchObject({
    error: { code: "scope_missing" },
  });
  expect((await home.hermes(["gateway", "keys"])).stdout).toMatch(/laptop +metrics/);
  expect((await home.hermes(["gateway", "keys", "laptop"])).stderr).toContain("already has a key laptop");
  await home.hermes(["gateway", "keys", "laptop", "--remove"]);
  expect(JSON.parse(await curl(key, `${url}/metrics`))).toMatchObject({ code: "invalid-api-key" });
  expect((await home.hermes(["gateway", "keys", "x", "--scope", "all"])).stderr).toContain(
    "There is no scope all",
  );
});

test("api H8: curl resumes a cut stream by Last-Event-ID", async () => {
  await using home = await openGatewayHome({ answers: [WAIT, { text: "The end.", chunk: 2 }] }, SETTINGS);
  await using gateway = await home.run();
  const url = urlOf(gateway);
  const key = await readKey(home);
  const { run_id: id } = JSON.parse(await curl(key, "-d", '{"input":"work"}', `${url}/v1/runs`));
  const cut = await curl(key, "--max-time", "3", `${url}/v1/runs/${id}/events`);
  expect(cut).toContain('"event":"tool.started"');
  const lastId = [...cut.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? "";
  await run("touch", [join(home.folder, "go")]);
  const rest = await curl(key, "-H", `Last-Event-ID: ${lastId}`, `${url}/v1/runs/${id}/events`);
  expect(rest).not.toContain('"event":"tool.started"');
  const deltas = [...rest.matchAll(/"delta":"([^"]*)"/g)].map(([, text]) => text);
  expect(deltas.join("")).toBe("The end.");
  expect(rest).toContain('"event":"run.completed"');
});

test("api H2: a key that can be guessed is refused, and a taken port stops only a gateway that was asked for the API", async () => {
  await using home = await openGatewayHome({ answers: [] }, SETTINGS);
  await using gateway = await home.run();
  const port = Number(new URL(urlOf(gateway)).port);
  await using other = await openGatewayHome({ answers: [] }, { api_server: { port } });
  await using running = await other.run();
  expect(running.output()).toContain("already listens");
  running.signal("SIGTERM");
  await running.ended;
  await other.configure({ api_server: { port, enabled: true } });
  const refused = other.start();
  expect(await refused.ended).toBe(78);
  await other.configure(SETTINGS);
  const weak = await other.hermes(["gateway", "run"], { API_SERVER_KEY: "password" });
  expect([weak.exitCode, weak.stderr]).toMatchObject([78, expect.stringContaining("too short")]);
});

test("api H7: a gateway that is stopped finishes the answers that clients wait for, and takes no further requests", async () => {
  await using home = await openGatewayHome({ answers: [WAIT, { text: "The end." }] }, SETTINGS);
  await using gateway = await home.run();
  const url = urlOf(gateway);
  const key = await readKey(home);
  const body = '{"messages":[{"role":"user","content":"work"}]}';
  const answer = curl(key, "-d", body, `${url}/v1/chat/completions`);
  await expect.poll(() => curl(key, `${url}/metrics`)).toContain("hermes_turns_active 1");
  gateway.signal("SIGTERM");
  await expect
    .poll(() => curl(key, "-d", body, `${url}/v1/chat/completions`))
    .toContain("The server is shutting down");
  await run("touch", [join(home.folder, "go")]);
  expect(JSON.parse(await answer)).toMatchObject({ choices: [{ message: { content: "The end." } }] });
  expect(await gateway.ended).toBe(0);
});
