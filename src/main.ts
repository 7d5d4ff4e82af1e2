#!/usr/bin/env node
import { fileURLToPath } from "node:url";
import { loadProgram } from "./load-program.ts";
import { VERSION } from "./version.ts";

/** The name of the bundled program beside this file, filled in by the build. */
declare const PROGRAM_FILE: string;

const words = process.argv.slice(2);

// The version is asked for by scripts and prompts: it answers before anything else is loaded.
if (words.length === 1 && (words[0] === "--version" || words[0] === "-V")) {
  process.stdout.write(`hermes ${VERSION}\n`);
} else {
  const { program } = loadProgram(fileURLToPath(new URL(PROGRAM_FILE, import.meta.url)));
  process.exitCode = await program.runCli(words, process);
}
