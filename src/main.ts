#!/usr/bin/env node
import { VERSION } from "./version.ts";

const words = process.argv.slice(2);

// The version is asked for by scripts and prompts: it answers before anything else is loaded.
if (words.length === 1 && (words[0] === "--version" || words[0] === "-V")) {
  process.stdout.write(`hermes ${VERSION}\n`);
} else {
  const { runCli } = await import("./cli/run.ts");
  process.exitCode = await runCli(words, process);
}
