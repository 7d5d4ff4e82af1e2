import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type CommandKind, compiledFile, loadProgram } from "../src/load-program.ts";
import { createPretendEngine } from "./pretend-engine.ts";

/**
 * Keeps the code that V8 compiles for commands of one kind, beside the program. It is bundled by the build and run in a
 * process of its own, because these commands change the process that they run in.
 */
const [path = "", kind = ""] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "hermes-compile-"));
const home = join(folder, "home");
const model = join(folder, "model.yaml");
writeFileSync(
  model,
  'answers:\n  - tools: [{ name: terminal, input: { command: "true" } }]\n  - text: done\n',
);
for (const name of Object.keys(process.env)) {
  if (/^(HERMES_|TERMINAL_|DOCKER_)/.test(name)) delete process.env[name];
}
Object.assign(process.env, { HOME: folder, HERMES_HOME: home, TERMINAL_ENV: "local" });
Object.assign(process.env, { HERMES_MODEL_PROVIDER: "scripted", HERMES_MODEL_DEFAULT: model });
process.chdir(folder);

const { program, script } = loadProgram(path, kind as CommandKind);
const run = (...words: readonly string[]): Promise<number> => program.runCli(words, process);

const WARM_UP: Readonly<Record<CommandKind, () => Promise<void>>> = {
  async sandbox() {
    await run("sandbox", "exec", "--", "true");
    // A client that does nothing, in front of an engine that looks like one with a sandbox.
    writeFileSync(join(folder, "docker"), "#!/bin/sh\n", { mode: 0o755 });
    const socket = join(folder, "docker.sock");
    const engine = createPretendEngine(home);
    await new Promise<void>((resolve) => engine.listen(socket, resolve));
    const PATH = [folder, process.env["PATH"]].join(delimiter);
    Object.assign(process.env, { PATH, TERMINAL_ENV: "docker", DOCKER_HOST: `unix://${socket}` });
    await run("sandbox", "exec", "--", "true");
    engine.close();
    engine.closeAllConnections();
  },
  async kanban() {
    await run("kanban", "create", "a task");
    await run("kanban", "list");
    await run("kanban", "dispatch");
  },
  async task() {
    await run("-z", "a task");
    // The same over HTTP, which brings libraries of its own.
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    Object.assign(process.env, { HERMES_MODEL_PROVIDER: "custom", HERMES_MODEL_DEFAULT: "m" });
    for (const format of ["/v1", "/anthropic"]) {
      process.env["HERMES_MODEL_BASE_URL"] = address + format;
      await run("-z", "a task");
    }
    server.close();
    server.closeAllConnections();
  },
};

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

try {
  await WARM_UP[kind as CommandKind]();
  writeFileSync(compiledFile(path, kind as CommandKind), script.createCachedData());
  process.exitCode = 0;
} finally {
  process.chdir("/");
  rmSync(folder, { recursive: true, force: true });
}
