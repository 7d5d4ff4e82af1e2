import { afterAll, beforeAll, expect, it } from "vitest";
import {
  openLocalTestEnvironment,
  openToolLab,
  type TestEnvironment,
} from "../../../test/support/tool-lab.ts";

let testEnvironment: TestEnvironment;
beforeAll(async () => {
  testEnvironment = await openLocalTestEnvironment();
});
afterAll(() => testEnvironment[Symbol.asyncDispose]());

const lab = (setUp: string) => openToolLab(testEnvironment, { setUp });

const FILES = "mkdir src; printf '%s\\n' 'first foo' bar 'second foo' > src/a.ts; echo foo > src/b.md";

it("E5: finds lines, file names, counts, and files by name", async () => {
  await using own = await lab(FILES);
  const search = async (query: object) => (await own.call("search_files", query)).text.split("\n");
  const end = `[paths are relative to ${own.folder}]`;
  expect((await search({ pattern: "fo+" })).sort()).toEqual(
    [end, "src/a.ts:1:first foo", "src/a.ts:3:second foo", "src/b.md:1:foo"].sort(),
  );
  expect(await search({ pattern: "foo", file_glob: "*.ts", output_mode: "files_only" })).toEqual([
    "src/a.ts",
    end,
  ]);
  expect(await search({ pattern: "foo", file_glob: "*.ts", output_mode: "count" })).toEqual([
    "src/a.ts: 2",
    end,
  ]);
  expect(await search({ pattern: "*.md", target: "files" })).toEqual(["src/b.md", end]);
});

it("E5: context lines are marked differently from matches", async () => {
  await using own = await lab(FILES);
  const { text } = await own.call("search_files", { pattern: "bar", context: 1 });
  expect(text.split("\n").slice(0, 3)).toEqual([
    "src/a.ts-1-first foo",
    "src/a.ts:2:bar",
    "src/a.ts-3-second foo",
  ]);
});

it("E5, C3: a full page names the next offset, which continues where the page ended", async () => {
  await using own = await lab("seq 1 120 > a.txt");
  const first = await own.call("search_files", { pattern: "." });
  expect(first.text).toContain("more results: offset 50");
  expect(first.text).toContain(`paths are relative to ${own.folder}`);
  const next = await own.call("search_files", { pattern: ".", offset: 50 });
  expect(next.text).toMatch(/^a\.txt:51:51\n/);
});

it("C2: a page that exceeds the size limit of a result ends earlier, and its next offset is correct", async () => {
  await using own = await lab(
    "for i in $(seq 600); do head -c 400 /dev/zero | tr '\\0' x; echo; done > a.txt",
  );
  const first = await own.call("search_files", { pattern: "x", limit: 1000 });
  expect(first.text.length).toBeLessThan(100_000);
  const [, offset] = /more results: offset (\d+)/.exec(first.text) ?? [];
  const next = await own.call("search_files", { pattern: "x", limit: 1000, offset: Number(offset) });
  expect(next.text).toMatch(new RegExp(`^a\\.txt:${Number(offset) + 1}:`));
});

it("M5: a search in one file names the file relative to its folder", async () => {
  await using own = await lab(FILES);
  const { text } = await own.call("search_files", { pattern: "bar", path: "src/a.ts" });
  expect(text).toBe(`a.ts:2:bar\n[paths are relative to ${own.folder}/src]`);
});

it("C3: the third identical search warns, the fourth is refused, and after a change it runs again", async () => {
  await using own = await lab(FILES);
  const search = () => own.call("search_files", { pattern: "bar" });
  for (const _ of [1, 2]) expect((await search()).text).not.toContain("time");
  expect(await search()).toMatchObject({ failed: false, text: expect.stringContaining("3rd time") });
  expect(await search()).toMatchObject({ failed: true, text: expect.stringContaining("not run again") });
  await own.call("read_file", { path: "src/a.ts" });
  expect(await search()).toMatchObject({ failed: true });
  await own.call("terminal", { command: "echo bar > src/c.txt" });
  expect(await search()).toMatchObject({ failed: false, text: expect.stringContaining("src/c.txt:1:bar") });
});

it("C3: a different search restarts the count", async () => {
  await using own = await lab(FILES);
  for (const pattern of ["bar", "bar", "bar", "foo", "bar", "bar"])
    expect(await own.call("search_files", { pattern })).toMatchObject({ failed: false });
});

it("K5: credential files are omitted and counted", async () => {
  await using own = await lab(
    "mkdir d; echo needle=1 > d/.env.local; echo needle > d/a.txt; mkdir d/.ssh; echo needle > d/.ssh/id",
  );
  for (const path of ["d", "d/.env.local", "d/.ssh"]) {
    const { text } = await own.call("search_files", { pattern: "needle", path });
    expect(text).not.toContain("needle=1");
    expect(text).not.toContain("id:1");
  }
  const direct = await own.call("search_files", { pattern: "needle", path: "d/.env.local" });
  expect(direct.text).toContain("1 protected file is omitted");
});

it("no results, an invalid pattern and a missing folder are distinguished", async () => {
  await using own = await lab(FILES);
  const search = (query: object) => own.call("search_files", query);
  expect(await search({ pattern: "absent" })).toMatchObject({
    failed: false,
    text: `[nothing found below ${own.folder}]`,
  });
  expect(await search({ pattern: "a(" })).toMatchObject({
    failed: true,
    text: expect.stringContaining("pattern"),
  });
  const missing = await search({ pattern: "a", path: "srk" });
  expect(missing).toMatchObject({ failed: true, text: expect.stringContaining(`${own.folder}/src?`) });
});
