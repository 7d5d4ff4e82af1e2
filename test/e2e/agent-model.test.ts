import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { startModelsServer } from "../support/models-server.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

const LIST = {
  data: [
    { id: "qwen3:8b", context_length: 40_960 },
    { id: "llama3:latest", context_length: 8_192 },
  ],
};

async function homeWith(config: string) {
  const home = await tempHome();
  await mkdir(home.path);
  const path = join(home.path, "config.yaml");
  await writeFile(path, config);
  return { ...home, readConfig: () => readFile(path, "utf8") };
}

test("`hermes model` shows the model, where it comes from, its window and what it costs", async () => {
  await using server = await startModelsServer(() => ({ "/v1/models": LIST }));
  await using home = await homeWith(`model:\n  base_url: ${server.url}/v1\n  default: qwen3:8b\n`);
  const local = await home.hermes(["model"]);
  expect(local.stdout).toMatch(/^model +qwen3:8b \(.*config\.yaml:3:12\)$/m);
  expect(local.stdout).toMatch(/^provider +custom \(model\.base_url\)$/m);
  expect(local.stdout).toMatch(/^window +40960 tokens, from the list of the server$/m);
  expect(local.stderr).toContain("only 40960 tokens");
  const hosted = await home.hermes(
    ["--model.base_url", "", "--model.default", "claude-sonnet-4-5", "model", "--json"],
    {
      env: { ANTHROPIC_API_KEY: "sk-ant-0123456789" },
    },
  );
  expect(hosted.json()).toMatchObject({
    model: "claude-sonnet-4-5",
    model_from: "--model.default",
    provider: "anthropic",
    provider_from: "ANTHROPIC_API_KEY",
    context_tokens: 200_000,
    context_source: "data",
    price: { input: 3, output: 15 },
  });
  expect(hosted.stdout).not.toContain("0123456789");
});

test("B2: `model list` shows the server's models and the age of the list, filtered, and as JSON; if the server is down, the old list stays", async () => {
  let answers: object = { "/v1/models": LIST };
  await using server = await startModelsServer(() => answers as Record<string, unknown>);
  await using home = await homeWith(`model:\n  base_url: ${server.url}/v1\n  default: qwen3:8b\n`);
  const all = await home.hermes(["model", "list"]);
  expect(all.stdout).toMatch(/^custom: listed by 127\.0\.0\.1:\d+ just now$/m);
  expect(all.stdout).toMatch(/^ {2}qwen3:8b +41k +\?$/m);
  // Without the provider, the models of a server that this machine happens to run would be listed too.
  const some = await home.hermes(["model", "list", "LLAMA", "--provider", "custom", "--json"]);
  expect(some.json()).toMatchObject([
    { provider: "custom", name: "llama3:latest", source: "server", context_tokens: 8_192, usable: true },
  ]);
  expect(server.asked.filter((line) => line === "GET /v1/models")).toHaveLength(1);
  answers = {};
  const stale = await home.hermes(["model", "list", "--refresh"]);
  expect(stale.exitCode).toBe(0);
  expect(stale.stdout).toContain("qwen3:8b");
  expect(stale.stderr).toMatch(/custom: 127\.0\.0\.1:\d+ answered with status 404\./);
  expect((await home.hermes(["model", "list", "nothing-like-this"])).stdout).toContain("No model matches");
  expect(await home.hermes(["model", "list", "--provider", "antropic"])).toMatchObject({
    exitCode: 78,
    stderr: expect.stringContaining("Did you mean anthropic?"),
  });
});

test("B1: `model list` shows the window and the price that the settings state for a model", async () => {
  await using server = await startModelsServer(() => ({ "/v1/models": { data: [{ id: "a" }] } }));
  await using home = await homeWith(
    `providers:\n  mine:\n    base_url: ${server.url}/v1\n    models:\n      a: { context_length: 32000, price: { input: 2, output: 5 } }\n      b: { context_length: 64000 }\n`,
  );
  const { stdout } = await home.hermes(["model", "list", "--provider", "mine", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject([
    { name: "a", source: "server", context_tokens: 32_000, price: { input: 2, output: 5 } },
    { name: "b", source: "settings", context_tokens: 64_000 },
  ]);
});

test("B3: `model set` leaves a local endpoint in one write, keeps comments, and reports what it changed", async () => {
  await using home = await homeWith(
    "# mine\nmodel:\n  base_url: http://127.0.0.1:9/v1 # local\n  api_mode: chat_completions\n  default: qwen3:8b\n  context_length: 9000\n",
  );
  const env = { ANTHROPIC_API_KEY: "sk-ant-0123456789" };
  const before = await home.readConfig();
  for (const [name, hint] of [
    ["anthropic:claude-sonet-4-5", "Did you mean claude-sonnet-4-5?"],
    ["anthropic:gpt-5", "Write openai-api:gpt-5."],
    ["openai-api:gpt-5", "OPENAI_API_KEY"],
  ] as const) {
    const refused = await home.hermes(["model", "set", name], { env });
    expect(refused.stderr).toContain(hint);
    expect([refused.exitCode, await home.readConfig()]).toEqual([78, before]);
  }
  const { stderr } = await home.hermes(["model", "set", "anthropic:claude-sonnet-4-5"], { env });
  expect(await home.readConfig()).toBe(
    "# mine\nmodel:\n  default: claude-sonnet-4-5\n  context_length: 9000\n  provider: anthropic\n",
  );
  expect(stderr).toContain("New sessions use claude-sonnet-4-5 (anthropic).");
  expect(stderr).toContain("model.base_url: http://127.0.0.1:9/v1 → removed");
  expect(stderr).toContain("model.context_length (9000) applies to the new model too");
  const again = await home.hermes(["model", "set", "claude-sonnet-4-5", "--json"], { env });
  expect(again.json()).toMatchObject({ provider: "anthropic", model: "claude-sonnet-4-5", changed: [] });
  const overridden = await home.hermes(["model", "set", "claude-haiku-4-5"], {
    env: { ...env, HERMES_MODEL_DEFAULT: "claude-opus-4-5" },
  });
  expect(overridden.stderr).toContain("HERMES_MODEL_DEFAULT overrides model.default");
});

test("B3: for a misspelt name in -m the right one is proposed, and nothing is sent to the model", async () => {
  await using server = await startModelsServer(() => ({ "/v1/models": LIST }));
  await using home = await homeWith(`model:\n  base_url: ${server.url}/v1\n  default: qwen3:8b\n`);
  const run = await home.hermes(["-m", "qwen38b", "-z", "hello"], { cwd: home.folder });
  expect(run.exitCode).toBe(78);
  expect(run.stderr).toContain("Did you mean qwen3:8b?");
  expect(server.asked.filter((line) => line.startsWith("POST /v1"))).toEqual([]);
});

test("`model test` sends one request and shows its time, tokens and cost, or the failure and what to do", async () => {
  await using server = await startScriptedServer(
    { answers: [{ text: "ok", usage: { input: 11, output: 2 }, times: 9 }] },
    { misbehave: (index) => (index === 1 ? { type: "answer", status: 401, body: "{}" } : undefined) },
  );
  await using home = await homeWith(`model:\n  base_url: ${server.url}/v1\n  default: m\n`);
  const answered = await home.hermes(["model", "test", "--json"]);
  expect(answered.json()).toMatchObject({ model: "m", input_tokens: 11, output_tokens: 2, cost_usd: 0 });
  const refused = await home.hermes(["model", "test"]);
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toMatch(/did not accept the request[\s\S]*model\.api_key/);
  expect((await home.hermes(["model", "test", "other"])).stdout).toMatch(
    /^other \(custom\) answered in \d+ ms/,
  );
  expect(server.requests).toHaveLength(3);
});

test("favourites are added and removed by name, come first, and keep the other lines of config.yaml", async () => {
  await using server = await startModelsServer(() => ({ "/v1/models": LIST }));
  const config = `model:\n  base_url: ${server.url}/v1 # mine\n  default: llama3\n`;
  await using home = await homeWith(config);
  await home.hermes(["model", "list"]);
  await home.hermes(["model", "favourite", "add", "qwen3:8b"]);
  expect(await home.readConfig()).toBe(`${config}  favourites:\n    - custom:qwen3:8b\n`);
  expect((await home.hermes(["model", "list"])).stdout).toMatch(/^\* qwen3:8b .*\n {2}llama3/m);
  expect((await home.hermes(["model", "favourite", "add", "lama3"])).stderr).toContain(
    "Did you mean llama3?",
  );
  const unknown = await home.hermes(["model", "favourite", "remove", "other"]);
  expect(unknown.stderr).toContain("Favourites: custom:qwen3:8b.");
  await home.hermes(["model", "favourite", "remove", "qwen3:8b"]);
  expect(await home.readConfig()).toBe(config);
});

test("B4: `model refresh` uses only the configured address, and refuses a broken, newer or older file", async () => {
  const rows = (input: number) => ({
    anthropic: {
      "claude-x-9": { context: 500_000, price: { input, output: 2, cache_read: 1, cache_write: 1 } },
    },
  });
  const good = { schema: 1, date: "2199-01-01", providers: rows(7) };
  let answer: unknown = good;
  await using server = await startModelsServer(() => ({ "/data.json": answer }));
  await using home = await homeWith("");
  const env = { ANTHROPIC_API_KEY: "sk-ant-0123456789" };
  const refresh = async (url: string) => home.hermes(["--model_catalog.url", url, "model", "refresh"]);
  const price = async () => {
    const flags = ["--model.default", "claude-x-9", "model", "--json"];
    return (await home.hermes(flags, { env })).json<{ price: { input: number } | null }>().price?.input;
  };
  expect(await home.hermes(["model", "refresh"])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("hermes config set model_catalog.url"),
  });
  expect(await price()).toBeUndefined();
  expect((await refresh(`${server.url}/data.json`)).stderr).toContain("it describes 1 models");
  expect(await price()).toBe(7);
  for (const [bad, reason] of [
    [{ ...good, schema: 2 }, "needs a newer Hermes"],
    [{ ...good, providers: rows(-1) }, "invalid at providers.anthropic.claude-x-9.price.input"],
    [{ ...good, date: "2001-01-01", providers: rows(8) }, "Nothing was changed"],
    ["text", "invalid at its top"],
  ] as const) {
    answer = bad;
    expect((await refresh(`${server.url}/data.json`)).stderr).toContain(reason);
    expect(await price()).toBe(7);
  }
  expect((await refresh(`${server.url}/missing`)).stderr).toContain("status 404");
  expect(await price()).toBe(7);
});

test("B1: a window that a server states in an error is used from then on", async () => {
  const message = "This model's maximum context length is 8192 tokens, however you requested 9000 tokens.";
  await using server = await startScriptedServer(
    { answers: [{ text: "ok", times: 9 }] },
    {
      misbehave: () => ({
        type: "answer",
        status: 400,
        body: JSON.stringify({ error: { message, code: "context_length_exceeded" } }),
      }),
    },
  );
  await using home = await homeWith(`model:\n  base_url: ${server.url}/v1\n  default: m\n`);
  expect((await home.hermes(["model", "--json"])).json()).toMatchObject({ context_source: "default" });
  await home.hermes(["-z", "hello"], { cwd: home.folder });
  expect((await home.hermes(["model", "--json"])).json()).toMatchObject({
    context_tokens: 8_192,
    context_source: "error",
  });
});

test("`hermes model` without a provider, and a mistyped verb, say what to do", async () => {
  await using home = await homeWith("");
  expect(await home.hermes(["model"])).toMatchObject({
    exitCode: 78,
    stderr: expect.stringContaining("hermes setup"),
  });
  // This machine may run a model server at a usual port.
  expect((await home.hermes(["model", "list"])).stdout).toMatch(
    /^No provider is set up|listed by 127\.0\.0\.1:/,
  );
  expect((await home.hermes(["model", "list", "--all"])).stdout).toContain(
    "anthropic: no key; from the data file",
  );
  expect(await home.hermes(["model", "lst"])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("Did you mean `hermes model list`?"),
  });
});

test("agent M6: -m x:y with an unknown provider is refused while a server is set, unless the server lists that model", async () => {
  await using server = await startScriptedServer(
    { answers: [{ text: "hello", times: 9 }] },
    { models: ["qwen3:8b", "llama"] },
  );
  await using home = await homeWith(`model:\n  base_url: ${server.url}/v1\n  default: llama\n`);
  const refused = await home.hermes(["-z", "hi", "-m", "acme:large"]);
  expect(refused).toMatchObject({ exitCode: 78, stdout: "" });
  expect(refused.stderr).toMatch(
    /no provider named acme, and 127\.0\.0\.1:\d+ lists no model named acme:large/,
  );
  expect(refused.stderr).toContain("--provider custom -m acme:large");
  expect(server.requests).toHaveLength(0);
  expect(await home.hermes(["-z", "hi", "-m", "qwen3:8b"])).toMatchObject({ exitCode: 0, stdout: "hello\n" });
  expect(await home.hermes(["-z", "hi", "--provider", "custom", "-m", "acme:large"])).toMatchObject({
    exitCode: 0,
  });
});
