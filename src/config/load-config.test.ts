import { mkdir, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { loadConfig } from "./load-config.ts";

test.each([
  "http://user:hunter2@h/v1",
  "http:user:hunter2@h/v1",
  "http:\\\\user:hunter2@h/v1",
  "http://h/v 1",
])("the URL %j is refused as a flag and in the file, and no password is shown", async (address) => {
  await using folder = await tempFolder();
  await writeFile(folder.file("config.yaml"), JSON.stringify({ providers: { lab: { base_url: address } } }));
  const { config, problems } = await loadConfig(filesIn(folder), {
    variables: {},
    settings: new Map([["model.base_url", address]]),
  });
  expect(config).toMatchObject({ model: { base_url: "" }, providers: {} });
  expect(problems.map(({ key }) => key)).toEqual(["model.base_url", "providers"]);
  for (const { message } of problems) {
    expect(message).toMatch(
      /expected an (address without whitespace, user name or password|http or https address)/,
    );
    expect(message).not.toContain("hunter2");
  }
});

test("a settings file that cannot be read is reported with the reason", async () => {
  await using folder = await tempFolder();
  await mkdir(folder.file("config.yaml"));
  const { problems } = await loadConfig(filesIn(folder));
  expect(problems.map(({ message }) => message)).toEqual([expect.stringMatching(/^cannot be read: \S/)]);
});

function filesIn(folder: { file(name: string): string }) {
  return { configPath: folder.file("config.yaml"), envPath: folder.file(".env") };
}

test("common URLs are accepted", async () => {
  await using folder = await tempFolder();
  for (const address of [
    "http://h",
    "https://h:8080/v1/",
    "http://[::1]:1/v1",
    "HTTP://H/a@b?c=d@e",
    " http://h ",
  ]) {
    const { config, problems } = await loadConfig(filesIn(folder), {
      variables: { HERMES_MODEL_BASE_URL: address },
    });
    expect(problems).toEqual([]);
    expect(config.model.base_url).toBe(address.trim());
  }
});

test("surrounding whitespace of a secret is removed", async () => {
  await using folder = await tempFolder();
  await writeFile(folder.file(".env"), 'HERMES_MODEL_API_KEY=" stored-secret "\n');
  const { secrets } = await loadConfig(filesIn(folder), {
    variables: { OPENAI_API_KEY: " inherited-secret\n" },
  });
  expect(secrets).toEqual(["stored-secret", "inherited-secret"]);
});

test.each([
  ["model: [broken\n", "]"],
  ["model: { default: m\nagent:\n  max_turns: 3\n", "}"],
])("a bracket that is not closed is named: %j", async (text, bracket) => {
  await using folder = await tempFolder();
  await writeFile(folder.file("config.yaml"), text);
  const { problems } = await loadConfig(filesIn(folder), { variables: {} });
  expect(problems[0]?.message).toContain(`closing ${bracket} is missing`);
});

test("a key in the query of an address is refused and not shown", async () => {
  await using folder = await tempFolder();
  for (const query of ["key=hunter2hunter2", "api-version=1&api-key=hunter2hunter2", "sig=hunter2hunter2"]) {
    const address = `https://h/v1?${query}`;
    await writeFile(
      folder.file("config.yaml"),
      JSON.stringify({ providers: { lab: { base_url: address } } }),
    );
    const { problems } = await loadConfig(filesIn(folder), {
      variables: {},
      settings: new Map([["model.base_url", address]]),
    });
    expect(problems.map(({ key }) => key)).toEqual(["model.base_url", "providers"]);
    for (const { message } of problems) {
      expect(message).toContain("without a key in its query");
      expect(message).not.toContain("hunter2");
    }
  }
});
