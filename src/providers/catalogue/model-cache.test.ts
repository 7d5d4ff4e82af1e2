import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { createModelCache } from "./model-cache.ts";
import { BUNDLED_DATA } from "./model-data.ts";

const SERVER = { provider: "lab", baseUrl: "http://127.0.0.1:1/v1" };
const LIST = { fetchedAt: 5, failedAt: undefined, models: [{ name: "m", contextTokens: 8 }] };

test("lists and windows are stored per provider, address and model, in private files", async () => {
  await using folder = await tempFolder();
  const cache = createModelCache(folder.path);
  await cache.saveList(SERVER, LIST);
  await cache.saveStatedWindow({ ...SERVER, model: "m" }, 4_096);
  expect(await cache.loadList(SERVER)).toEqual(LIST);
  expect(await cache.loadList({ ...SERVER, baseUrl: "http://127.0.0.1:2/v1" })).toBeUndefined();
  expect(await cache.loadStatedWindow({ ...SERVER, model: "m" })).toBe(4_096);
  expect(await cache.loadStatedWindow({ ...SERVER, model: "n" })).toBeUndefined();
  const path = join(folder.path, "cache", "models");
  for (const name of await readdir(path)) expect((await stat(join(path, name))).mode & 0o077).toBe(0);
});

test.each([
  ["no JSON", "{"],
  ["another schema", JSON.stringify({ schema: 2, ...LIST })],
  ["no models", JSON.stringify({ schema: 1, fetchedAt: 5 })],
  ["a bad price", JSON.stringify({ schema: 1, models: [{ name: "m", price: { input: "1" } }] })],
  ["a bad window", JSON.stringify({ schema: 1, models: [{ name: "m", contextTokens: "8" }] })],
  ["bytes", "\xff\xfe"],
])("B2: a stored list with %s counts as missing", async (_, content) => {
  await using folder = await tempFolder();
  const cache = createModelCache(folder.path);
  await cache.saveList(SERVER, LIST);
  const path = join(folder.path, "cache", "models");
  const [name = ""] = await readdir(path);
  await writeFile(join(path, name), content, "latin1");
  expect(await cache.loadList(SERVER)).toBeUndefined();
});

test("B4: a fetched data file is used unless it is damaged or older than the bundled one", async () => {
  await using folder = await tempFolder();
  const cache = createModelCache(folder.path);
  const newer = { ...BUNDLED_DATA, date: "2199-01-01" };
  expect(await cache.loadData()).toBe(BUNDLED_DATA);
  await cache.saveData(newer);
  expect((await cache.loadData()).date).toBe("2199-01-01");
  await cache.saveData({ ...newer, date: "2001-01-01" });
  expect(await cache.loadData()).toBe(BUNDLED_DATA);
  await mkdir(join(folder.path, "cache", "models"), { recursive: true });
  const path = join(folder.path, "cache", "models", "known-models.json");
  await writeFile(path, (await readFile(path, "utf8")).slice(0, 100));
  expect(await cache.loadData()).toBe(BUNDLED_DATA);
});
