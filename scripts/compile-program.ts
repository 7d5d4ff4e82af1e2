import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
/** A model that says one word, in the format that it is asked in. */
const server = createServer((request, response) => {
  const events = request.url?.endsWith("/messages") ? ANTHROPIC_EVENTS : CHAT_EVENTS;
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  });
});
const CHAT_EVENTS = [{ choices: [{ delta: { content: "done" }, finish_reason: "stop" }] }];
const ANTHROPIC_EVENTS = [
  { type: "message_start", message: { id: "1", model: "m", usage: { input_tokens: 1, output_tokens: 0 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "done" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
  { type: "message_stop" },
];
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
  // The same over HTTP, which brings libraries of its own.
  Object.assign(process.env, { HERMES_MODEL_PROVIDER: "custom", HERMES_MODEL_DEFAULT: "m" });
  for (const path of ["/v1", "/anthropic"]) {
    process.env["HERMES_MODEL_BASE_URL"] = address + path;
    await program.runCli(["-z", "a task"], process);
  }
  writeFileSync(compiledFile(path), script.createCachedData());
  process.exitCode = 0;
} finally {
  server.close();
  server.closeAllConnections();
  process.chdir("/");
  rmSync(folder, { recursive: true, force: true });
}
