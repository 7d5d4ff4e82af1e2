import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { createResultFitter, type ResultFitterOptions } from "./fit-result.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

function fitter(home: string, more: Partial<ResultFitterOptions> = {}) {
  return createResultFitter({
    home,
    contextTokens: undefined,
    spillBytes: 5_000_000,
    now: () => Date.now(),
    ...more,
  });
}

const pathIn = (text: string): string => / in (\S+\.txt) on the user's machine/.exec(text)?.[1] ?? "";

it("C2: a result of 100,000 characters is returned unchanged, and no file is written", async () => {
  await using temp = await tempFolder();
  const text = "x".repeat(100_000);
  expect(await fitter(temp.path)(text, "web_extract")).toBe(text);
  expect(await readdir(temp.path)).toEqual([]);
});

it("C2: for a longer result, the model gets its beginning and the path of a private file with the full text", async () => {
  await using temp = await tempFolder();
  const text = `start ${"é".repeat(100_000)} end`;
  const fitted = await fitter(temp.path)(text, "web_extract");
  expect(fitted.length).toBeLessThan(9_000);
  expect(fitted).toMatch(/^start é/);
  expect(fitted).toContain(`${text.length} characters`);
  const path = pathIn(fitted);
  expect(path).toMatch(new RegExp(`^${temp.path}/cache/spillover/web_extract-`));
  expect(await readFile(path, "utf8")).toBe(text);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

it("C2: a model with a small context window gets shorter results", async () => {
  await using temp = await tempFolder();
  const shorten = fitter(temp.path, { contextTokens: 16_000 });
  expect(await shorten("x".repeat(16_000), "t")).toHaveLength(16_000);
  expect((await shorten("x".repeat(16_001), "t")).length).toBeLessThan(9_000);
});

it("C2: the file is cut at the spill limit, and the result states the limit", async () => {
  await using temp = await tempFolder();
  const fitted = await fitter(temp.path, { spillBytes: 120_000 })("x".repeat(50_000_000), "t");
  expect(fitted).toContain("Its first 120000 bytes are in");
  expect((await stat(pathIn(fitted))).size).toBe(120_000);
});

it("C2: the next result removes files older than seven days; newer files and other files are kept", async () => {
  await using temp = await tempFolder();
  const folder = join(temp.path, "cache", "spillover");
  await mkdir(folder, { recursive: true });
  const ages = { "t-1-00000000.txt": 8, "t-2-00000000.txt": 6, "mine.txt": 99 };
  for (const [name, days] of Object.entries(ages)) {
    await writeFile(join(folder, name), "");
    const then = new Date(Date.now() - days * DAY_MS);
    await utimes(join(folder, name), then, then);
  }
  await fitter(temp.path)("x".repeat(100_001), "new");
  expect((await readdir(folder)).map((name) => name.replace(/-\d{9,}.*/, ""))).toEqual([
    "mine.txt",
    "new",
    "t-2-00000000.txt",
  ]);
});

it("if the file cannot be written, the model still gets the beginning of the result", async () => {
  await using temp = await tempFolder();
  await writeFile(temp.file("cache"), "in the way");
  const fitted = await fitter(temp.path)("x".repeat(100_001), "t");
  expect(fitted).toContain("could not be saved");
  expect(fitted).toMatch(/^xxx/);
});

it("a surrogate pair is never split", async () => {
  await using temp = await tempFolder();
  const fitted = await fitter(temp.path)(`x${"😀".repeat(60_000)}`, "t");
  expect(/\p{Surrogate}/u.test(fitted)).toBe(false);
});
