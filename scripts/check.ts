import { spawn } from "node:child_process";
import { findAppBreaches } from "./app-imports.ts";
import { findRowProblems } from "./behaviour-rows.ts";
import { findChangedMigrations } from "./frozen-migrations.ts";
import { findBreaches } from "./imports.ts";

interface Check {
  readonly name: string;
  run(): Promise<{ ok: boolean; output: string }>;
}

/** Everything except dependencies, which the other run of knip checks: scripts may use devDependencies. */
const IN_PRODUCTION = "files,exports,types,duplicates";

const CHECKS: readonly Check[] = [
  { name: "format and lint", run: () => program("biome", ["check", "--error-on-warnings"]) },
  { name: "types", run: () => program("tsc", ["-p", "."]) },
  { name: "types of the browser app", run: () => program("tsc", ["-p", "dashboard"]) },
  { name: "imports", run: async () => listed([...findBreaches("src"), ...findAppBreaches("dashboard/src")]) },
  { name: "migrations", run: async () => listed(findChangedMigrations()) },
  { name: "behaviour rows", run: async () => listed(findRowProblems()) },
  { name: "generated files", run: () => program("tsx", ["scripts/generate.ts", "--check"]) },
  { name: "unused code", run: () => program("knip", []) },
  {
    name: "code that only tests use",
    run: () => program("knip", ["--production", "--include", IN_PRODUCTION]),
  },
];

const started = performance.now();
const results = await Promise.all(
  CHECKS.map(async (check) => ({ name: check.name, ...(await check.run()) })),
);
for (const { name, ok, output } of results) {
  process.stdout.write(`${ok ? "ok  " : "FAIL"}  ${name}\n`);
  if (!ok) process.stdout.write(`${output.trim()}\n\n`);
}
const failed = results.filter((result) => !result.ok).length;
process.stdout.write(
  `${failed === 0 ? "clean" : `${failed} failed`}, ${((performance.now() - started) / 1_000).toFixed(1)} s\n`,
);
process.exitCode = failed === 0 ? 0 : 1;

function listed(findings: readonly string[]): { ok: boolean; output: string } {
  return { ok: findings.length === 0, output: findings.join("\n") };
}

function program(name: string, args: readonly string[]): Promise<{ ok: boolean; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(`node_modules/.bin/${name}`, args, { stdio: ["ignore", "pipe", "pipe"] });
    const chunks: string[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
    child.once("error", (error) => resolve({ ok: false, output: String(error) }));
    child.once("close", (code) => resolve({ ok: code === 0, output: chunks.join("") }));
  });
}
