import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import type { ConfigKey } from "../config-keys.ts";
import {
  type EditResult,
  editSettings,
  findKeys,
  type RefusedText,
  replaceSettings,
} from "./edit-settings.ts";
import { versionOf } from "./settings-text.ts";

const TEXT = [
  "# mine",
  "terminal:",
  "  timeout: 60 # seconds",
  "  docker_volumes:",
  '    - "/a:/a"',
  "unknown: stays",
  "",
].join("\n");

async function openFile(text = TEXT) {
  const folder = await tempFolder();
  const configPath = folder.file("config.yaml");
  await writeFile(configPath, text);
  const read = (): Promise<string> => readFile(configPath, "utf8");
  return {
    read,
    edit(
      changes: Record<string, string | null>,
      version = versionOf(text),
    ): Promise<EditResult<RefusedText>> {
      const wanted = new Map<ConfigKey, string | null>();
      for (const [name, key] of findKeys(Object.keys(changes)))
        if (key) wanted.set(key, changes[name] ?? null);
      const file = { configPath, home: folder.path, version };
      return editSettings(file, wanted, (key) => key.default, neverAborted);
    },
    replace: (next: string, version = versionOf(text)) =>
      replaceSettings({ configPath, home: folder.path, version }, next, neverAborted),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test("several settings are written at once; comments, order and unknown keys stay", async () => {
  await using file = await openFile();
  const result = await file.edit({ "terminal.timeout": " 300 ", "logging.level": "debug" });
  expect(result).toMatchObject({ outcome: "saved", changed: ["terminal.timeout", "logging.level"] });
  expect(await file.read()).toBe(`${TEXT.replace("60 #", "300 #")}logging:\n  level: debug\n`);
});

test("null removes a setting; a value that is in effect anyway is not added", async () => {
  await using file = await openFile();
  const result = await file.edit({
    "terminal.timeout": null,
    "terminal.backend": "local",
    "logging.level": null,
  });
  expect(result).toMatchObject({ outcome: "saved", changed: ["terminal.timeout"] });
  expect(await file.read()).toBe(TEXT.replace("  timeout: 60 # seconds\n", ""));
});

test("one invalid text refuses all changes, with a sentence for each", async () => {
  await using file = await openFile();
  const result = await file.edit({
    "terminal.backend": "dokcer",
    "terminal.timeout": "soon",
    "logging.level": "debug",
  });
  expect(result).toMatchObject({
    outcome: "refused",
    problems: [
      { key: "terminal.backend", problem: expect.stringMatching(/expected one of .*docker.*, not "dokcer"/) },
      { key: "terminal.timeout", problem: 'expected a whole number, not "soon"' },
    ],
  });
  expect(await file.read()).toBe(TEXT);
});

test("nothing is written if the file was changed since it was read", async () => {
  await using file = await openFile();
  expect(await file.edit({ "terminal.timeout": "300" }, versionOf("other"))).toEqual({ outcome: "stale" });
  expect(await file.replace("terminal: {}\n", versionOf("other"))).toEqual({ outcome: "stale" });
  expect(await file.read()).toBe(TEXT);
});

test("of simultaneous edits of one version, one is written", async () => {
  await using file = await openFile();
  const values = ["100", "200", "300", "400"];
  const results = await Promise.all(values.map((value) => file.edit({ "terminal.timeout": value })));
  expect(results.filter(({ outcome }) => outcome === "saved")).toHaveLength(1);
});

test("a whole text with an error is refused with its line; unknown keys are no error", async () => {
  await using file = await openFile();
  const result = await file.replace("terminal:\n  timeout: soon\n");
  expect(result).toMatchObject({ outcome: "refused", problems: [{ key: "terminal.timeout" }] });
  expect(result.outcome === "refused" && result.problems[0]?.where).toMatch(/config\.yaml:2:12$/);
  expect(await file.replace("unknown: 1\n")).toMatchObject({ outcome: "saved" });
  expect(await file.read()).toBe("unknown: 1\n");
});
