import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { jsonSchema, referencePage } from "../src/config/reference.ts";
import { behaviourRowsPage } from "./behaviour-rows.ts";
import { hostileServersPage } from "./hostile-table.ts";

/** Files computed from the schema and the tests, by path. */
const GENERATED: Record<string, () => string> = {
  "docs/reference/configuration.md": referencePage,
  "docs/reference/behaviour-rows.md": behaviourRowsPage,
  "docs/reference/hostile-servers.md": hostileServersPage,
  "config.schema.json": () => `${JSON.stringify(jsonSchema(), undefined, 2)}\n`,
};

const checkOnly = process.argv.includes("--check");
const stale: string[] = [];
for (const [path, generate] of Object.entries(GENERATED)) {
  const wanted = generate();
  const found = await readFile(path, "utf8").catch(() => undefined);
  if (found === wanted) continue;
  stale.push(path);
  if (checkOnly) continue;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, wanted);
}

if (checkOnly && stale.length > 0) {
  process.stderr.write(`out of date: ${stale.join(", ")}. Run \`npm run generate\`.\n`);
  process.exitCode = 1;
}
