#!/usr/bin/env node
import { join } from "node:path";
import { loadProgram } from "./load-program.ts";
import { VERSION } from "./version.ts";

/** The place of the bundled program, seen from this file, filled in by the build. */
declare const PROGRAM_FILE: string;

const words = process.argv.slice(2);

// The version is asked for by scripts and prompts: it answers before anything else is loaded.
if (words.length === 1 && (words[0] === "--version" || words[0] === "-V")) {
  process.stdout.write(`hermes ${VERSION}\n`);
} else {
  const { program } = loadProgram(join(__dirname, PROGRAM_FILE));
  program.runCli(words, process).then((code) => {
    process.exitCode = code;
  });
}
