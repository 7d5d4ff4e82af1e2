#!/usr/bin/env node
import { existsSync } from "node:fs";
import { join } from "node:path";
import { opensChat } from "./cli/chat/opens-chat.ts";
import { paintFirstFrame } from "./cli/chat/window/first-frame.ts";
import { guessCommandKind, loadProgram, nodeBinaryName } from "./load-program.ts";
import { VERSION } from "./version.ts";

/** Path of the bundled program relative to this file; the build inserts it. */
declare const PROGRAM_FILE: string;

/** In a checkout that was built with another Node, sets up the native module and the compiled program for this Node. */
function setUpForThisNode(): void {
  const setup = join(__dirname, "../scripts/setup.sh");
  if (existsSync(join(__dirname, `.node-${nodeBinaryName()}`)) || !existsSync(setup)) return;
  const { spawnSync } = process.getBuiltinModule("node:child_process"); // loaded only when needed
  const { status } = spawnSync("sh", [setup, "--build"], { stdio: ["ignore", 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}

// By default SIGUSR1 makes Node open a debugger port. Old versions of Node have no flag to disable that.
process.on("SIGUSR1", () => undefined);

const args = process.argv.slice(2);

// Scripts and prompts query the version, so it is printed before anything else is loaded.
if (args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
  process.stdout.write(`hermes ${VERSION}\n`);
} else {
  setUpForThisNode();
  const firstFrame = opensChat(args) ? paintFirstFrame(process) : undefined;
  try {
    const { program } = loadProgram(join(__dirname, PROGRAM_FILE), guessCommandKind(args));
    program.runCli(args, process, firstFrame).then((code) => {
      process.exitCode = code;
    });
  } catch (error) {
    firstFrame?.close();
    throw error;
  }
}
