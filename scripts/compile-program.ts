import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compiledFile, loadProgram } from "../src/load-program.ts";

/**
 * Keeps the code that V8 compiles for the commands that are called most, beside the program. It is bundled by the build
 * and run in a process of its own, because these commands change the process that they run in.
 */
const [path = ""] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "hermes-compile-"));
const model = join(folder, "model.yaml");
writeFileSync(
  model,
  'answers:\n  - tools: [{ name: terminal, input: { command: "true" } }]\n  - text: done\n',
);
for (const name of Object.keys(process.env)) {
  if (/^(HERMES_|TERMINAL_)/.test(name)) delete process.env[name];
}
Object.assign(process.env, { HOME: folder, HERMES_HOME: join(folder, "home"), TERMINAL_ENV: "local" });
Object.assign(process.env, { HERMES_MODEL_PROVIDER: "scripted", HERMES_MODEL_DEFAULT: model });
process.chdir(folder);
try {
  const { program, script } = loadProgram(path);
  for (const words of [
    ["kanban", "create", "a task"],
    ["kanban", "list"],
    ["kanban", "dispatch"],
    ["sandbox", "exec", "--", "true"],
    ["-z", "a task"],
  ]) {
    await program.runCli(words, process);
  }
  writeFileSync(compiledFile(path), script.createCachedData());
  process.exitCode = 0;
} finally {
  process.chdir("/");
  rmSync(folder, { recursive: true, force: true });
}
