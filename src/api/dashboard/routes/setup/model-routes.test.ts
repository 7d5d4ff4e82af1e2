import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type DashboardHome, openDashboardHome } from "../../../../../test/support/dashboard-home.ts";
import { startRefusingServer } from "../../../../../test/support/refusing-server.ts";
import { keysAnswerSchema, keyTestSchema, modelsAnswerSchema } from "../../../contract/setup/models.ts";

const KEY = "sk-ant-api03-0123456789abcdefghij";

const put = (home: DashboardHome, name: string, value: string, replace = false) =>
  home.send("PUT", `profiles/default/keys/${name}`, { json: { value, replace } });
const readEnv = (home: DashboardHome): Promise<string> => readFile(home.folder.file(".env"), "utf8");

async function provider(home: DashboardHome, name: string) {
  const { providers } = await home.ask(keysAnswerSchema, "GET", "profiles/default/keys");
  return providers.find((row) => row.provider === name);
}

test("a key is stored trimmed, listed without its value, replaced only on purpose, and removed", async () => {
  await using home = await openDashboardHome();
  expect(await provider(home, "anthropic")).toMatchObject({ keys: [], nextVariable: "ANTHROPIC_API_KEY" });
  expect((await put(home, "ANTHROPIC_API_KEY", `  ${KEY}\n`)).status).toBe(204);
  expect(await readEnv(home)).toBe(`ANTHROPIC_API_KEY=${KEY}\n`);
  expect(await provider(home, "anthropic")).toMatchObject({
    keys: [{ variable: "ANTHROPIC_API_KEY", isFixed: false, state: "ready" }],
    nextVariable: "ANTHROPIC_API_KEY_2",
  });
  expect((await put(home, "ANTHROPIC_API_KEY", "another-key")).status).toBe(409);
  expect((await put(home, "ANTHROPIC_API_KEY", "another-key", true)).status).toBe(204);
  expect(await readEnv(home)).toBe("ANTHROPIC_API_KEY=another-key\n");
  expect((await home.send("DELETE", "profiles/default/keys/ANTHROPIC_API_KEY")).status).toBe(204);
  expect(await readEnv(home)).toBe("");
  const audit = await home.lab.readAudit();
  expect(audit).toMatch(/"msg":"PUT .*","outcome":"done".*ANTHROPIC_API_KEY/);
  expect(audit).not.toContain(KEY);
});

test("a key with a space inside, an empty one and a name that is no key are refused, and nothing is stored", async () => {
  await using home = await openDashboardHome({}, { OPENAI_API_KEY: "from-the-environment" });
  const refused = [
    await put(home, "ANTHROPIC_API_KEY", "sk-ant 0123"),
    await put(home, "ANTHROPIC_API_KEY", "   "),
    await put(home, "ANTHROPIC_API_KEY", "sk-\u200bant"),
    await put(home, "PATH", "/tmp"),
    await put(home, KEY, "value"),
    await put(home, "OPENAI_API_KEY", "mine", true),
  ];
  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 404, 404, 409]);
  expect(refused[0]?.text).toContain("contains a space");
  expect(refused[4]?.text).not.toContain(KEY); // a key that was pasted as the name
  await expect(readEnv(home)).rejects.toThrow("ENOENT");
  expect(await provider(home, "openai-api")).toMatchObject({
    keys: [{ variable: "OPENAI_API_KEY", isFixed: true }],
  });
});

test("a secret setting is stored by its variable, and no answer contains a stored value", async () => {
  await using home = await openDashboardHome();
  expect((await put(home, "TELEGRAM_BOT_TOKEN", `12345:${KEY}`)).status).toBe(204);
  expect((await put(home, "ANTHROPIC_API_KEY", KEY)).status).toBe(204);
  for (const path of ["keys", "models", "settings", "settings/yaml"]) {
    const { status, text } = await home.send("GET", `profiles/default/${path}`);
    expect([path, status]).toEqual([path, 200]);
    expect(text).not.toContain(KEY.slice(0, 14));
    expect(text).not.toContain(KEY.slice(-6));
  }
});

test("a key is tested with one request, and the answer says what is wrong", async () => {
  await using server = await startRefusingServer();
  await using home = await openDashboardHome({
    providers: { lab: { base_url: server.url, key_env: "LAB_KEY", model: "m1" } },
  });
  expect((await put(home, "LAB_KEY", "lab-secret-key-1")).status).toBe(204);
  const result = await home.ask(keyTestSchema, "POST", "profiles/default/keys/LAB_KEY/test", { json: {} });
  expect(result).toMatchObject({ works: false, model: "m1", message: expect.any(String) });
  expect(JSON.stringify(result)).not.toContain("lab-secret-key-1");
  expect(server.requests()).toBe(1);
  expect(await provider(home, "lab")).toMatchObject({ keys: [{ variable: "LAB_KEY", state: "refused" }] });
  expect((await home.send("POST", "profiles/default/keys/NO_KEY/test", { json: {} })).status).toBe(404);
});

test("a model becomes the default in config.yaml, unless a variable fixes it", async () => {
  await using home = await openDashboardHome();
  await put(home, "ANTHROPIC_API_KEY", KEY);
  const json = { model: "anthropic:claude-sonnet-4-5" };
  expect((await home.send("PUT", "profiles/default/model", { json })).status).toBe(200);
  const { current, providers } = await home.ask(modelsAnswerSchema, "GET", "profiles/default/models");
  expect(current).toMatchObject({
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    keyFrom: "ANTHROPIC_API_KEY",
  });
  expect(providers[0]?.models.find(({ isDefault }) => isDefault)?.reference).toBe(json.model);
  const unknown = await home.send("PUT", "profiles/default/model", { json: { model: "nobody:x" } });
  expect(unknown.status).toBeGreaterThanOrEqual(400);
  await writeFile(home.folder.file(".env"), "HERMES_MODEL_DEFAULT=other\nHERMES_MODEL=other\n");
  const fixed = await home.send("PUT", "profiles/default/model", { json });
  expect([fixed.status, fixed.body]).toMatchObject([409, { code: "setting-fixed" }]);
});
