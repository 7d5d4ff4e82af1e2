import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { conformanceTable, type TestReport } from "./conformance-table.ts";

/** `npm run conformance` runs the suites that every environment must pass, and prints a table with a column for each. */

const folder = mkdtempSync(join(tmpdir(), "hermes-conformance-"));
try {
  const path = join(folder, "report.json");
  const suites = [
    "src/environments",
    "test/e2e/streamed-input.test.ts",
    "--testNamePattern",
    "keeps the contract of",
  ];
  const { status } = spawnSync("node_modules/.bin/tsx", ["scripts/test.ts", ...suites], {
    stdio: ["ignore", 2, 2], // only the table goes to stdout
    env: { ...process.env, HERMES_TEST_REPORT: path },
  });
  const table = conformanceTable(JSON.parse(readFileSync(path, "utf8")) as TestReport);
  process.stdout.write(`${table.text}\n`);
  process.exitCode = status === 0 && table.isGreen ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
