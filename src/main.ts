#!/usr/bin/env node
import { existsSync } from "node:fs";
import { join } from "node:path";
import { kindOf, loadProgram, nodeName } from "./load-program.ts";
import { VERSION } from "./version.ts";

/** The place of the bundled program, seen from this file, filled in by the build. */
declare const PROGRAM_FILE: string;

/** A checkout that was built with another Node gets the native module and the compiled program for this one as well. */
function setUpForThisNode(): void {
  const setup = join(__dirname, "../scripts/setup.sh");
  if (existsSync(join(__dirname, `.node-${nodeName()}`)) || !existsSync(setup)) return;
  const { spawnSync } = process.getBuiltinModule("node:child_process"); // not loaded where it is not needed
  const { status } = spawnSync("sh", [setup, "--build"], { stdio: ["ignore", 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}

// Node would open a port for a debugger, to whoever may send us signals. Old versions have no flag against it.
process.on("SIGUSR1", () => undefined);

const words = process.argv.slice(2);

// The version is asked for by scripts and prompts: it answers before anything else is loaded.
if (words.length === 1 && (words[0] === "--version" || words[0] === "-V")) {
  process.stdout.write(`hermes ${VERSION}\n`);
} else {
  setUpForThisNode();
  const { program } = loadProgram(join(__dirname, PROGRAM_FILE), kindOf(words));
  program.runCli(words, process).then((code) => {
    process.exitCode = code;
  });
}
