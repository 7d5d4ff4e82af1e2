import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChangedFiles, findDeepFiles, foldersOf } from "./deep-lane.ts";
import { countTests, type RunReport, reportLines } from "./test-report.ts";

/**
 * `npm test [-- FILES…]`: starts the real services, runs the tests, lists the slowest files and prints the count. Services
 * that already run are used and left running; otherwise this run starts its own, separate from those of other runs, and stops
 * them at the end. `npm run test:deep [-- FILES… | --changed]` does the same with the full counts of test/support/scale.ts, for
 * all files that use such a count, or only for those of the changed parts. Tests that would start after HERMES_TEST_UNTIL
 * (seconds since 1970) are not run, and are listed at the end.
 */

const CHANGED = "--changed";
const SERVICES = "scripts/test-services";

const given = process.argv.slice(2);
const args = process.env["HERMES_TEST_LANE"] === "deep" ? deepArguments() : given;
if (args.length === 0 && given.includes(CHANGED)) {
  process.stdout.write("No changed file has a deep lane.\n0 passed, 0 failed, 0 skipped\n");
  process.exit();
}
// Servers and test commands use paths of this folder without quotes. The path of the checkout does not matter.
if (!/^[\w./-]+$/.test(tmpdir())) process.env["TMPDIR"] = "/tmp";
const folder = mkdtempSync(join(tmpdir(), "hermes-test-"));
const report = process.env["HERMES_TEST_REPORT"] ?? join(folder, "report.json");
const own = !isAnyRunning();
// Outside our own folder, which the user of PostgreSQL cannot access.
if (own) process.env["HERMES_TEST_SERVICES"] = `${folder}-services`;

const started = services("start");
const tested = await vitest(args, report);
const stopped = !own || services("stop");
const found = readReport(report);
for (const path of [folder, `${folder}-services`]) rmSync(path, { recursive: true, force: true });

// A service that cannot be installed here is skipped with a message; one that should run but does not is a failure.
const broken = started && stopped ? 0 : 1;
const counts = countTests(found, tested);
for (const line of found === undefined ? [] : reportLines(found, process.cwd()))
  process.stdout.write(`${line}\n`);
process.stdout.write(
  `${counts.passed} passed, ${counts.failed + broken} failed, ${counts.skipped} skipped\n`,
);
process.exitCode = tested || broken;

/** The given files, or else the files of the deep lane, limited to the changed parts with `--changed`. */
function deepArguments(): string[] {
  const named = given.filter((arg) => arg !== CHANGED);
  if (named.length > 0) return named;
  const folders = given.includes(CHANGED) ? foldersOf(findChangedFiles(".", process.env)) : [""];
  return findDeepFiles(".").filter((file) => folders.some((folder) => file.startsWith(folder)));
}

function readReport(path: string): RunReport | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as RunReport;
  } catch {
    return undefined;
  }
}

function isAnyRunning(): boolean {
  const { stdout } = spawnSync(SERVICES, ["status", "--json"], { encoding: "utf8" });
  return stdout?.includes('"running"') ?? false;
}

function services(verb: "start" | "stop"): boolean {
  // Their reports go to stderr, so that the count stays the last line of stdout.
  const { status } = spawnSync(SERVICES, [verb], { stdio: ["ignore", 2, 2] });
  if (status !== 0) process.stderr.write(`${SERVICES} ${verb} failed; the lines above say why.\n`);
  return status === 0;
}

function vitest(args: readonly string[], output: string): Promise<number> {
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${output}`];
  return new Promise((resolve, reject) => {
    const child = spawn("node_modules/.bin/vitest", ["run", ...reporters, ...args], { stdio: "inherit" });
    // The terminal sends Ctrl-C to vitest too; this process must stay to stop the services.
    process.on("SIGINT", () => undefined);
    child.once("error", reject);
    child.once("close", (exitCode) => resolve(exitCode ?? 1));
  });
}
