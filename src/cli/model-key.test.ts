import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { openApp } from "../app/app.ts";
import { readRouteSettings } from "../app/conversation.ts";
import { loadConfig } from "../config/load-config.ts";
import { checkModel } from "../doctor/check-model.ts";
import { resolveRoute } from "../providers/routes/resolve-route.ts";

const FILE = "https://file.example/v1";
const OTHER = "https://other.example/v1";
const KEY = "HERMES_MODEL_API_KEY";
const ADDRESS = "HERMES_MODEL_BASE_URL";

interface KeySources {
  readonly file?: string;
  readonly dotEnv?: Readonly<Record<string, string>>;
  readonly shell?: Readonly<Record<string, string>>;
  readonly flag?: string;
}

test.each<[string, KeySources, string | undefined]>([
  ["a stored key is sent to the stored address", { file: FILE, dotEnv: { [KEY]: "k" } }, "k"],
  ["a stored key is sent to an address in .env", { dotEnv: { [KEY]: "k", [ADDRESS]: FILE } }, "k"],
  [
    "a stored key is not sent to a flag's address",
    { file: FILE, dotEnv: { [KEY]: "k" }, flag: OTHER },
    undefined,
  ],
  [
    "a stored key is sent to a flag's address on the same server",
    { file: FILE, dotEnv: { [KEY]: "k" }, flag: `${FILE}/beta` },
    "k",
  ],
  [
    "a stored key is not sent without TLS",
    { file: FILE, dotEnv: { [KEY]: "k" }, flag: "http://file.example/v1" },
    undefined,
  ],
  [
    "a stored key is not sent to a variable's address",
    { file: FILE, dotEnv: { [KEY]: "k" }, shell: { [ADDRESS]: OTHER } },
    undefined,
  ],
  [
    "a stored key without an address is not sent to a flag's address",
    { dotEnv: { [KEY]: "k" }, flag: OTHER },
    undefined,
  ],
  [
    "a variable's key is sent to a variable's address",
    { file: FILE, shell: { [KEY]: "k", [ADDRESS]: OTHER } },
    "k",
  ],
  ["a variable's key is sent to the stored address", { file: FILE, shell: { [KEY]: "k" } }, "k"],
  [
    "a variable's key is not sent to a flag's address",
    { file: FILE, shell: { [KEY]: "k" }, flag: OTHER },
    undefined,
  ],
])("model.api_key: %s", async (_, given, key) => {
  await using folder = await tempFolder();
  const model = { default: "m", ...(given.file && { base_url: given.file }) };
  await writeFile(folder.file("config.yaml"), JSON.stringify({ model }));
  const lines = Object.entries(given.dotEnv ?? {}).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(folder.file(".env"), lines.join(""));
  const resolved = await loadConfig(
    { configPath: folder.file("config.yaml"), envPath: folder.file(".env") },
    {
      variables: given.shell ?? {},
      settings: new Map(given.flag ? [["model.base_url", given.flag]] : []),
    },
  );
  const route = resolveRoute(readRouteSettings(resolved), {}, resolved.variable);
  expect(route).toMatchObject({ model: "m", provider: "custom" });
  expect(route.key).toBe(key);
  if (key === undefined)
    expect(route.keyHint).toMatch(
      /^model.api_key was not sent, because it is for (file.example|the address that it was stored with) only. Give the key together with the address, as HERMES_MODEL_API_KEY and HERMES_MODEL_BASE_URL.$/,
    );
});

test("doctor names the key that is not sent unencrypted, and the fix", async () => {
  await using folder = await tempFolder();
  const openrouter = { base_url: "http://gateway.example/v1" };
  await writeFile(
    folder.file("config.yaml"),
    JSON.stringify({ model: { provider: "openrouter", default: "m" }, providers: { openrouter } }),
  );
  const variables = { HERMES_HOME: folder.path, OPENROUTER_API_KEY: "or" };
  const app = await openApp({ profile: undefined, settings: new Map(), variables, userHome: folder.path });
  const signal = new AbortController().signal;
  expect(await checkModel({ app, online: false, cwd: () => "/", signal })).toEqual([
    {
      name: "model",
      status: "note",
      detail: "m (openrouter), without a key: OPENROUTER_API_KEY is not for http://gateway.example/v1",
      fix: expect.stringContaining("Use https, or allow it anyway"),
    },
  ]);
});
