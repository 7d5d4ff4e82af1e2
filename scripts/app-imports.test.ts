import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test/support/temp-folder.ts";
import { findAppBreaches } from "./app-imports.ts";

async function breaches(files: Record<string, string>): Promise<string[]> {
  await using folder = await tempFolder();
  const source = join(folder.path, "dashboard/src");
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(source, path)), { recursive: true });
    await writeFile(join(source, path), text);
  }
  return findAppBreaches(source);
}

test("a page may not import another page, and a component may not import a page", async () => {
  expect(await breaches({ "pages/board/a.tsx": 'import "../sessions/b.tsx";' })).toHaveLength(1);
  expect(await breaches({ "components/a.tsx": 'import "../pages/board/b.tsx";' })).toHaveLength(1);
  expect(
    await breaches({ "pages/board/a.tsx": 'import "./b.tsx";\nimport "../../components/c.tsx";' }),
  ).toEqual([]);
});

test("the app takes only types, and only those of the contract, from the rest of the project", async () => {
  const types = 'import type { Me } from "../../../src/api/contract/me.ts";';
  expect(await breaches({ "data/a.ts": types })).toEqual([]);
  expect(await breaches({ "data/a.ts": types.replace("import type", "import") })).toEqual([
    "data/a.ts imports more than types of the contract",
  ]);
  expect(await breaches({ "data/a.ts": 'import type { Task } from "../../../src/board/task.ts";' })).toEqual([
    "data/a.ts reaches outside the app: ../../src/board/task.ts",
  ]);
});
