import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChangedFiles, findDeepFiles, foldersOf } from "./deep-lane.ts";
import { countTests, type RunReport, reportLines } from "./test-report.ts";

/**
 * `npm test [-- FILES…]`: the real services, then the tests, then the slowest files and the count. Services that already
 * run are used and left alone; otherwise this run starts its own, apart from those of any other run, and puts them away
 * again. `npm run test:deep [-- FILES… | --changed]` does the same with the full counts of test/support/scale.ts, for all
 * files that use one or for those of the parts that changed. What would begin after HERMES_TEST_UNTIL (seconds since
 * 1970) is not run, and named at the end.
 */

const CHANGED = "--changed";
const SERVICES = "scripts/test-services";

const given = process.argv.slice(2);
const args = process.env["HERMES_TEST_LANE"] === "deep" ? deepArguments() : given;
if (args.length === 0 && given.includes(CHANGED)) {
  process.stdout.write("Nothing that changed has a deep lane.\n0 passed, 0 failed, 0 skipped\n");
  process.exit();
}
// Servers and the commands of tests write paths into places that know no quotes; the checkout may stand anywhere.
if (!/^[\w./-]+$/.test(tmpdir())) process.env["TMPDIR"] = "/tmp";
const folder = mkdtempSync(join(tmpdir(), "hermes-test-"));
const report = process.env["HERMES_TEST_REPORT"] ?? join(folder, "report.json");
const own = !isAnyRunning();
// Beside our own folder, which is closed to the user that PostgreSQL runs as.
if (own) process.env["HERMES_TEST_SERVICES"] = `${folder}-services`;

const started = services("start");
const tested = await vitest(args, report);
const stopped = !own || services("stop");
const found = readReport(report);
for (const path of [folder, `${folder}-services`]) rmSync(path, { recursive: true, force: true });

// A part that may not be installed here is skipped aloud; one that should run and does not is a failure.
const broken = started && stopped ? 0 : 1;
const counts = countTests(found, tested);
for (const line of found === undefined ? [] : reportLines(found, process.cwd()))
  process.stdout.write(`${line}\n`);
process.stdout.write(
  `${counts.passed} passed, ${counts.failed + broken} failed, ${counts.skipped} skipped\n`,
);
process.exitCode = tested || broken;

/** What is named is run; otherwise the files of the deep lane, or those of them that belong to what changed. */
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
    // Ctrl-C reaches vitest by itself; we stay to put the services away.
    process.on("SIGINT", () => undefined);
    child.once("error", reject);
    child.once("close", (exitCode) => resolve(exitCode ?? 1));
  });
}
