import { mkdir, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createDraftCompletion } from "./complete-draft.ts";

const signal = new AbortController().signal;

test.each([
  ["@", ['@"my notes/', "@file:", "@folder:"]],
  ["see @a", ['@"a shot.png"']],
  ['see @"a s', ['@"a shot.png"']],
  ["@file:a", ['@file:"a shot.png"']],
  ["@my", ['@"my notes/']],
  ['@"my notes/', ['@"my notes/in it.txt"', '@"my notes/plain.txt"']],
  ["@folder:m", ['@folder:"my notes/']],
  ["@ün", ['@"ünï côdé.txt"']],
  ["@src/pl", ["@src/plain.ts"]],
] as const)(
  "@file completion: %j offers %j, with names that have spaces in quotes",
  async (before, offers) => {
    await using folder = await tempFolder();
    await mkdir(folder.file("my notes"));
    await mkdir(folder.file("src"));
    for (const name of [
      "a shot.png",
      "my notes/in it.txt",
      "my notes/plain.txt",
      "ünï côdé.txt",
      "src/plain.ts",
    ])
      await writeFile(folder.file(name), "");
    const complete = createDraftCompletion({
      commands: () => [],
      argumentsOf: () => undefined,
      folder: folder.path,
    });
    const found = await complete(before, signal);
    expect(found?.typed).toBe(before.slice(before.indexOf("@")));
    expect(found?.items.map(({ value }) => value)).toEqual(expect.arrayContaining([...offers]));
    if (before !== "@") expect(found?.items).toHaveLength(offers.length);
  },
);
