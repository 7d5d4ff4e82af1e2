import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadProgram, packPath } from "../../src/load-program.ts";
import { tempFolder } from "../support/temp-folder.ts";

const CHUNKS = {
  "./run.js": '(function(exports,require){exports.runCli=()=>require("./later.js").answer})',
  "./later.js": "(function(exports){exports.answer='from the program'})",
};

/** The same format as scripts/build.mjs writes. */
function programText(chunks: Readonly<Record<string, string>>): string {
  let end = 0;
  const spans = Object.entries(chunks).map(([name, { length }]) => {
    end += length;
    return [name, [end - length, length]] as const;
  });
  const list = JSON.stringify(Object.fromEntries(spans));
  return `${String(list.length).padStart(8)}${list}${Object.values(chunks).join("")}`;
}

test("a chunk can still be loaded after an update has removed the program file", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "program.cjs");
  await writeFile(path, programText(CHUNKS));
  const { program, loaded } = loadProgram(path, "kanban");
  expect([...loaded.keys()]).toEqual(["./run.js"]);
  await rm(path);
  expect(await program.runCli([], process)).toBe("from the program");
});

test("chunks are loaded from the pack of the command's kind if it has them, otherwise from the program", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "program.cjs");
  await writeFile(path, programText(CHUNKS));
  await writeFile(
    packPath(path, "kanban"),
    `({"./later.js":(function(exports){exports.answer='from the pack'})})`,
  );
  expect(await loadProgram(path, "kanban").program.runCli([], process)).toBe("from the pack");
  expect(await loadProgram(path, "task").program.runCli([], process)).toBe("from the program");
});

test("if the pack of a kind names another pack for a chunk, that pack is loaded on demand", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "program.cjs");
  await writeFile(path, programText(CHUNKS));
  await writeFile(packPath(path, "kanban"), `({"./later.js":"settings"})`);
  const { program, scripts } = loadProgram(path, "kanban");
  expect([...scripts.keys()]).toEqual(["kanban"]);
  expect(await loadProgram(path, "kanban").program.runCli([], process)).toBe("from the program");
  await writeFile(
    packPath(path, "settings"),
    `({"./later.js":(function(exports){exports.answer='from the other pack'})})`,
  );
  expect(await program.runCli([], process)).toBe("from the other pack");
  expect([...scripts.keys()]).toEqual(["kanban", "settings"]);
});
