import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test/support/temp-folder.ts";
import { findBreaches } from "./imports.ts";

async function breaches(files: Record<string, string>): Promise<string[]> {
  await using folder = await tempFolder();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true });
    await writeFile(join(folder.path, path), text);
  }
  return findBreaches(folder.path);
}

test("environments may not import gateway, in any form of import", async () => {
  const forms = [
    'import { a } from "../gateway/a.ts";',
    'import type { A } from "../gateway/a.ts";',
    'export * from "../gateway/a.ts";',
    'import "../gateway/a.ts";',
    'const a = await import("../gateway/a.ts");',
    'import {\n  a,\n  b,\n} from "../gateway/a.ts";',
  ];
  for (const form of forms) {
    expect(await breaches({ "environments/x.ts": form, "gateway/a.ts": "" }), form).toEqual([
      "environments/x.ts may not import gateway/a.ts",
    ]);
  }
});

test("lib imports no part, and a part may import only the listed files of another", async () => {
  expect(await breaches({ "lib/x.ts": 'import "../config/load.ts";' })).toHaveLength(1);
  expect(await breaches({ "tools/x.ts": 'import "../environments/environment.ts";' })).toEqual([]);
  expect(await breaches({ "tools/x.ts": 'import "../environments/docker/docker.ts";' })).toHaveLength(1);
  expect(await breaches({ "config/schema.ts": 'import "../board/options.ts";' })).toEqual([]);
  expect(await breaches({ "config/schema.ts": 'import "../board/store.ts";' })).toHaveLength(1);
});

test("the shapes of the API import only each other, and commands may use them but nothing else of the API", async () => {
  const files = { "api/contract/b.ts": "", "api/server.ts": "", "lib/a.ts": "" };
  expect(await breaches({ ...files, "api/contract/a.ts": 'import "./b.ts";' })).toEqual([]);
  expect(await breaches({ ...files, "api/contract/a.ts": 'import "../../lib/a.ts";' })).toHaveLength(1);
  expect(await breaches({ ...files, "cli/a.ts": 'import "../api/contract/b.ts";' })).toEqual([]);
  expect(await breaches({ ...files, "cli/a.ts": 'import "../api/server.ts";' })).toHaveLength(1);
});

test("an import cycle is found, and an import in a comment is ignored", async () => {
  expect(await breaches({ "lib/a.ts": 'import "./b.ts";', "lib/b.ts": 'import "./a.ts";' })).toEqual([
    expect.stringContaining("import cycle"),
  ]);
  expect(await breaches({ "lib/a.ts": '// import "../cli/run.ts";\n/* import "../cli/run.ts"; */' })).toEqual(
    [],
  );
});

test("an unknown part and an empty tree are errors", async () => {
  expect(await breaches({ "utils/a.ts": "" })).toEqual([expect.stringContaining("not a part")]);
  await expect(breaches({ "lib/readme.md": "" })).rejects.toThrow("no modules");
});
