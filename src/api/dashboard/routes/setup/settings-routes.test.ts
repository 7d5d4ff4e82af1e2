import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type DashboardHome, openDashboardHome } from "../../../../../test/support/dashboard-home.ts";
import {
  settingsAnswerSchema,
  settingsSavedSchema,
  settingsYamlSchema,
} from "../../../contract/setup/settings.ts";

const PATH = "profiles/default/settings";
const SECRET = "sk-ant-api03-0123456789abcdefghij";

const read = (home: DashboardHome) => home.ask(settingsAnswerSchema, "GET", PATH);
const readYaml = (home: DashboardHome) => home.ask(settingsYamlSchema, "GET", `${PATH}/yaml`);

async function find(home: DashboardHome, key: string) {
  const { settings, version } = await read(home);
  return { ...settings.find((setting) => setting.key === key), version };
}

/** A home whose config.yaml has this text. */
async function openHome(text: string, variables: Record<string, string> = {}) {
  const home = await openDashboardHome({}, variables);
  await writeFile(home.folder.file("config.yaml"), text);
  return home;
}

test("each setting has its value, its origin with line or variable, and what fixes it", async () => {
  await using home = await openHome("terminal:\n  timeout: 60\n  backend: dokcer\n", {
    HERMES_LOGGING_LEVEL: "debug",
  });
  await writeFile(home.folder.file(".env"), "HERMES_AGENT_API_MAX_RETRIES=7\n");
  expect(await find(home, "terminal.timeout")).toMatchObject({
    ...{ value: "60", stored: "60", default: "180", origin: "file", place: "config.yaml:2", fixedBy: null },
    ...{ type: "integer", expected: "a whole number", unusedUnless: null },
  });
  expect(await find(home, "terminal.backend")).toMatchObject({
    ...{ stored: "dokcer", origin: "default", place: null },
    problem: expect.stringContaining('not "dokcer"'),
  });
  expect(await find(home, "logging.level")).toMatchObject({
    ...{ value: "debug", origin: "env", place: "HERMES_LOGGING_LEVEL", fixedBy: "HERMES_LOGGING_LEVEL" },
  });
  expect(await find(home, "agent.api_max_retries")).toMatchObject({
    fixedBy: "HERMES_AGENT_API_MAX_RETRIES in .env:1",
  });
  expect(await find(home, "terminal.docker_image")).toMatchObject({
    ...{ origin: "default", place: null, unusedUnless: expect.arrayContaining(["docker"]) },
  });
  const { problems } = await read(home);
  expect(problems).toMatchObject([{ key: "terminal.backend", line: 3, hint: expect.any(String) }]);
});

test("B10: saving one setting changes one line; a second edit of the same version is 412 and changes nothing", async () => {
  const text = "# mine\nterminal:\n  timeout: 60 # seconds\nunknown: stays\n";
  await using home = await openHome(text);
  const { version } = await read(home);
  const json = { changes: { "terminal.timeout": "300" }, version };
  const saved = await home.ask(settingsSavedSchema, "PATCH", PATH, { json });
  expect(saved.changed).toEqual(["terminal.timeout"]);
  const after = await readFile(home.folder.file("config.yaml"), "utf8");
  expect(after).toBe(text.replace("60", "300"));
  const again = await home.send("PATCH", PATH, { json: { changes: { "terminal.timeout": "5" }, version } });
  expect([again.status, again.body]).toMatchObject([412, { code: "settings-stale" }]);
  expect(await readFile(home.folder.file("config.yaml"), "utf8")).toBe(after);
  expect(saved.version).toBe((await read(home)).version);
  expect(await home.lab.readAudit()).toMatch(
    /"msg":"PATCH \/api\/profiles\/:profile\/settings","outcome":"done".*"detail":"terminal.timeout"/,
  );
});

test("B11: a setting that a variable fixes, a secret and an unknown key are refused and not written", async () => {
  await using home = await openHome("", { HERMES_LOGGING_LEVEL: "debug" });
  const { version } = await read(home);
  const send = (key: string) => home.send("PATCH", PATH, { json: { changes: { [key]: "warn" }, version } });
  const fixed = await send("logging.level");
  expect([fixed.status, fixed.text]).toEqual([409, expect.stringContaining("HERMES_LOGGING_LEVEL")]);
  expect((await send("model.api_key")).status).toBe(409);
  const unknown = await send("logging.levle");
  expect([unknown.status, unknown.text]).toEqual([404, expect.stringContaining("logging.level")]);
  expect(await readFile(home.folder.file("config.yaml"), "utf8")).toBe("");
});

test("invalid texts are refused with a sentence for each setting", async () => {
  await using home = await openHome("");
  const { version } = await read(home);
  const changes = { "terminal.timeout": "soon", "terminal.backend": "docker", "agent.max_turns": "-" };
  const { status, body } = await home.send("PATCH", PATH, { json: { changes, version } });
  expect([status, body]).toMatchObject([
    400,
    {
      code: "settings-invalid",
      problems: [
        { key: "terminal.timeout", text: 'expected a whole number, not "soon"' },
        { key: "agent.max_turns", text: expect.stringContaining("expected a whole number, or null") },
      ],
    },
  ]);
  expect(await readFile(home.folder.file("config.yaml"), "utf8")).toBe("");
});

test("no secret is in an answer, wherever it is stored, and a text that contains one is not replaced", async () => {
  const text = `model:\n  api_key: ${SECRET}\nproviders:\n  lab:\n    base_url: http://h/v1\n    api_key: hunter2-hunter2\n`;
  await using home = await openHome(text);
  await writeFile(home.folder.file(".env"), `TELEGRAM_BOT_TOKEN=${SECRET}telegram\n`);
  const settings = await home.send("GET", PATH);
  const yaml = await home.send("GET", `${PATH}/yaml`);
  for (const { status, text: shown } of [settings, yaml]) {
    expect(status).toBe(200);
    expect(shown).not.toContain(SECRET);
    expect(shown).not.toContain("hunter2");
  }
  const { version, isMasked } = await readYaml(home);
  expect(isMasked).toBe(true);
  const put = await home.send("PUT", `${PATH}/yaml`, { json: { text: "", version } });
  expect([put.status, put.text]).toEqual([400, expect.stringContaining("contains a secret")]);
  expect(await readFile(home.folder.file("config.yaml"), "utf8")).toBe(text);
});

test("the text of config.yaml is replaced if it is valid; its problems have lines", async () => {
  await using home = await openHome("a: 1\n");
  const { version, text, isMasked } = await readYaml(home);
  expect([text, isMasked]).toEqual(["a: 1\n", false]);
  const put = (next: string) => home.send("PUT", `${PATH}/yaml`, { json: { text: next, version } });
  const refused = await put("terminal:\n  timeout: [\n");
  expect([refused.status, refused.body]).toMatchObject([400, { problems: [{ line: expect.any(Number) }] }]);
  expect((await put("# new\nterminal: { timeout: 5 }\n")).status).toBe(200);
  expect((await put("b: 2\n")).status).toBe(412);
  expect((await readYaml(home)).text).toBe("# new\nterminal: { timeout: 5 }\n");
});

test("a change by any process is announced", async () => {
  await using home = await openHome("");
  const stream = await home.lab.follow(await home.signIn(["read"]), "topics=always");
  await stream.find(({ name }) => name === "hello");
  await writeFile(home.folder.file("profiles/coder/config.yaml"), "terminal: { timeout: 5 }\n");
  const change = await stream.find(({ name }) => name === "settings-change");
  expect(change.data).toEqual({ profile: "coder" });
});
