import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * `npm test [-- FILES…]`: the real services, then the tests, then the count. Services that already run are used and left
 * alone; otherwise this run starts its own, apart from those of any other run, and puts them away again.
 */

const SERVICES = "scripts/test-services";

const folder = mkdtempSync(join(tmpdir(), "hermes-test-"));
const report = process.env["HERMES_TEST_REPORT"] ?? join(folder, "report.json");
const own = !isAnyRunning();
// Beside our own folder, which is closed to the user that PostgreSQL runs as.
if (own) process.env["HERMES_TEST_SERVICES"] = `${folder}-services`;

const started = services("start");
const tested = await vitest(process.argv.slice(2), report);
const stopped = !own || services("stop");
const counts = readCounts(report, tested);
for (const path of [folder, `${folder}-services`]) rmSync(path, { recursive: true, force: true });

// A part that may not be installed here is skipped aloud; one that should run and does not is a failure.
const broken = started && stopped ? 0 : 1;
process.stdout.write(
  `${counts.passed} passed, ${counts.failed + broken} failed, ${counts.skipped} skipped\n`,
);
process.exitCode = tested || broken;

/** A file that could not be loaded, or an error outside of any test, counts as a failure too. */
function readCounts(path: string, exitCode: number): { passed: number; failed: number; skipped: number } {
  try {
    const found = JSON.parse(readFileSync(path, "utf8")) as Record<string, number>;
    const unnamed = exitCode !== 0 && found["numFailedTests"] === 0 ? 1 : 0;
    return {
      passed: found["numPassedTests"] ?? 0,
      failed: (found["numFailedTests"] ?? 0) + unnamed,
      skipped: (found["numPendingTests"] ?? 0) + (found["numTodoTests"] ?? 0),
    };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
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
