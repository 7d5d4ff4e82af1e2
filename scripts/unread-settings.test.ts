import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test/support/temp-folder.ts";
import { findUnreadSettings, settingNames } from "./unread-settings.ts";

test("a setting counts as read only if code of the program uses it", async () => {
  await using folder = await tempFolder();
  const files = {
    "main.ts": 'import { a } from "./agent/a.ts"; a(config);',
    "agent/a.ts": `import type { B } from "./b.ts";
      interface Settings { only_typed: number; by_dot: number; taken_apart: number }
      export function a(settings: Settings & B) {
        const { taken_apart } = settings; // only_in_comment
        return [taken_apart, settings.by_dot, read("by_name"), "Set agent.only_in_words to 1."];
      }`,
    "agent/b.ts": "export interface B {}",
    "agent/options.ts": "export const only_in_schema = { only_in_schema: 1 };",
    "agent/alone.ts": "export const x = (settings) => settings.not_reached;",
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true });
    await writeFile(join(folder.path, path), text);
  }
  const names =
    "by_dot taken_apart by_name only_typed only_in_comment only_in_words only_in_schema not_reached";
  const settings = names.split(" ").map((name) => ({ key: `agent.${name}`, name }));
  expect(findUnreadSettings(folder.path, "main.ts", settings)).toEqual(
    ["only_typed", "only_in_comment", "only_in_words", "only_in_schema", "not_reached"].map(
      (name) => `agent.${name}`,
    ),
  );
});

test("the program reads every setting of the schema", async () => {
  expect(findUnreadSettings("src", "cli/run.ts", await settingNames())).toEqual([]);
});
