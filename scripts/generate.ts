import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { createJsonSchema, renderReferencePage } from "../src/config/reference-page.ts";
import { APPROVALS_PAGE, approvalsPage } from "./approvals-page.ts";
import { behaviourRowsPage } from "./behaviour-rows.ts";
import { hostileServersPage } from "./hostile-servers-page.ts";
import { modelFailuresPage } from "./model-failures-page.ts";
import { routesPage } from "./routes-page.ts";
import { TROUBLESHOOTING_PAGE, troubleshootingPage } from "./troubleshooting-page.ts";

/** Files computed from the schema, the code and the tests, by path. */
const GENERATED: Record<string, () => string | Promise<string>> = {
  "docs/reference/configuration.md": renderReferencePage,
  "docs/reference/behaviour-rows.md": behaviourRowsPage,
  "docs/reference/hostile-servers.md": hostileServersPage,
  "docs/reference/model-failures.md": modelFailuresPage,
  "docs/reference/routes.md": routesPage,
  [APPROVALS_PAGE]: approvalsPage,
  [TROUBLESHOOTING_PAGE]: troubleshootingPage,
  "config.schema.json": async () => `${JSON.stringify(await createJsonSchema(), undefined, 2)}\n`,
};

const checkOnly = process.argv.includes("--check");
const stale: string[] = [];
for (const [path, generate] of Object.entries(GENERATED)) {
  const wanted = await generate();
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
