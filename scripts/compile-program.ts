import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import {
  type CommandKind,
  compiledCodePath,
  type LoadedProgram,
  loadProgram,
  type PackName,
  packPath,
} from "../src/load-program.ts";
import { createFakeEngine } from "./fake-engine.ts";

/**
 * Stores the chunks that one kind of command needs, and the code that V8 compiles for them, next to the program. The build
 * bundles this file and runs it in a separate process, because these commands change the process that they run in.
 */
const [path = "", word = ""] = process.argv.slice(2);
const kind = word as CommandKind;
const folder = mkdtempSync(join(tmpdir(), "hermes-compile-"));
const home = join(folder, "home");
const model = join(folder, "model.yaml");
writeFileSync(
  model,
  'answers:\n  - tools: [{ name: terminal, input: { command: "echo done" } }]\n  - text: done\n',
);
for (const name of Object.keys(process.env)) {
  if (/^(HERMES_|TERMINAL_|DOCKER_)/.test(name)) delete process.env[name];
}
Object.assign(process.env, { HOME: folder, HERMES_HOME: home });
process.chdir(folder);

/** A server whose model calls a tool and then answers with one word, in the format of the request. */
const createModel = () => {
  const answered = new Set<string>();
  return createServer((request, response) => {
    const { path = "", call = [], text = [] } = FORMATS.find((one) => request.url?.includes(one.path)) ?? {};
    const events = answered.has(path) ? text : call;
    answered.add(path);
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
    });
  });
};

type Needed = readonly [pack: PackName, chunks: readonly string[], compiled: Buffer | undefined];
type Run = (...words: readonly string[]) => Promise<number>;

const WARM_UP: Readonly<Record<Exclude<CommandKind, "chat">, (run: Run) => Promise<void>>> = {
  async sandbox(run) {
    await run("sandbox", "exec", "--", "true");
    // A client that does nothing, and a fake engine that reports a running sandbox.
    writeFileSync(join(folder, "docker"), "#!/bin/sh\n", { mode: 0o755 });
    const socket = join(folder, "docker.sock"); // closing the engine removes it
    const engine = createFakeEngine(home);
    await new Promise<void>((resolve) => engine.listen(socket, resolve));
    const PATH = [folder, process.env["PATH"]].join(delimiter);
    Object.assign(process.env, { PATH, TERMINAL_ENV: "docker", DOCKER_HOST: `unix://${socket}` });
    await run("sandbox", "exec", "--", "true");
    engine.close();
    engine.closeAllConnections();
  },
  async kanban(run) {
    await run("kanban", "create", "a task");
    await run("kanban", "list");
    await run("kanban", "dispatch");
  },
  async task(run) {
    await run("-z", "a task");
    // The same over HTTP, which loads further libraries.
    const server = createModel();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    Object.assign(process.env, { HERMES_MODEL_PROVIDER: "custom", HERMES_MODEL_DEFAULT: "m" });
    process.env["HERMES_MODEL_BASE_URL"] = `${address}/v1`;
    for (const { format } of FORMATS) {
      process.env["HERMES_MODEL_API_MODE"] = format;
      await run("-z", "a task");
    }
    server.close();
    server.closeAllConnections();
  },
};

/** Runs a chat in a fake terminal: its first prompt, one turn, and its end. */
async function warmUpChat(program: LoadedProgram["program"], atPrompt: () => void): Promise<void> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, isRaw: false, setRawMode: () => stdin });
  let shown = "";
  let check: () => void = () => undefined;
  const write = (bytes: Buffer, _: string, done: () => void): void => {
    shown += bytes;
    check();
    done();
  };
  const stdout = Object.assign(new Writable({ write }), { isTTY: true, columns: 80, rows: 24 });
  const shows = (text: RegExp): Promise<void> =>
    new Promise((resolve) => {
      check = () => {
        if (text.test(shown)) resolve();
      };
      check();
    });
  const streams = Object.create(process, { stdin: { value: stdin }, stdout: { value: stdout } });
  const chat = program.runCli([], streams);
  await shows(/\/help/);
  atPrompt();
  stdin.write("a task\r");
  await shows(/✓[\s\S]*done/);
  stdin.write("\u0004\u0004");
  await chat;
}

const TOOL = "terminal";
const INPUT = { command: "echo done" };
const JSON_INPUT = JSON.stringify(INPUT);

interface Format {
  readonly format: string;
  /** A part of the path of its requests. */
  readonly path: string;
  /** The events of an answer that calls a tool, and of one that is text. */
  readonly call: readonly object[];
  readonly text: readonly object[];
}

const FORMATS: readonly Format[] = [
  {
    format: "chat_completions",
    path: "/chat/",
    call: [
      {
        choices: [
          {
            delta: {
              tool_calls: [
                { index: 0, id: "1", type: "function", function: { name: TOOL, arguments: JSON_INPUT } },
              ],
            },
            finish_reason: "tool_calls",
          },
        ],
      },
    ],
    text: [{ choices: [{ delta: { content: "done" }, finish_reason: "stop" }] }],
  },
  {
    format: "anthropic_messages",
    path: "/messages",
    call: anthropicAnswer(
      { type: "tool_use", id: "1", name: TOOL, input: {} },
      { type: "input_json_delta", partial_json: JSON_INPUT },
      "tool_use",
    ),
    text: anthropicAnswer({ type: "text", text: "" }, { type: "text_delta", text: "done" }, "end_turn"),
  },
  {
    format: "codex_responses",
    path: "/responses",
    call: [
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { type: "function_call", id: "1", call_id: "1", name: TOOL, arguments: "" },
      },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { type: "function_call", id: "1", call_id: "1", name: TOOL, arguments: JSON_INPUT },
      },
      { type: "response.completed", response: { status: "completed" } },
    ],
    text: [
      { type: "response.output_text.delta", output_index: 0, delta: "done" },
      { type: "response.completed", response: { status: "completed" } },
    ],
  },
  {
    format: "google_generate",
    path: "Content",
    call: [
      {
        candidates: [
          { content: { parts: [{ functionCall: { name: TOOL, args: INPUT } }] }, finishReason: "STOP" },
        ],
      },
    ],
    text: [{ candidates: [{ content: { parts: [{ text: "done" }] }, finishReason: "STOP" }] }],
  },
];

function anthropicAnswer(block: object, delta: object, reason: string): readonly object[] {
  return [
    { type: "message_start", message: { id: "1", model: "m", usage: { input_tokens: 1, output_tokens: 0 } } },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ];
}

try {
  if (!existsSync(packPath(path, kind))) {
    const { read, needed } = await warmUp();
    const [[, own], other] = needed as [Needed, Needed?];
    const sources = (names: readonly string[]) =>
      names.map((name) => `${JSON.stringify(name)}:${read(name)}`);
    const [otherName, otherChunks] = other ?? ["", []];
    if (other) writePack(other[0], sources(otherChunks));
    const elsewhere = otherChunks.map((name) => `${JSON.stringify(name)}:${JSON.stringify(otherName)}`);
    writePack(kind, [...sources(own), ...elsewhere]);
  }
  for (const [name, , code] of (await warmUp()).needed)
    if (code) writeFileSync(compiledCodePath(path, name), code);
  process.exitCode = 0;
} finally {
  process.chdir("/");
  rmSync(folder, { recursive: true, force: true });
}

/** Writes atomically, because another Node may compile the same program at the same time. */
function writePack(name: PackName, entries: readonly string[]): void {
  const own = join(dirname(process.argv[1] ?? ""), `${name}.pack`); // in the staging folder, on the same file system
  writeFileSync(own, `({${entries.join(",")}})`);
  renameSync(own, packPath(path, name));
}

/** Runs the commands of the kind. Returns, for each pack, the chunks that they used and the code that V8 compiled. */
async function warmUp(): Promise<{ read: LoadedProgram["read"]; needed: readonly Needed[] }> {
  const given = { ...process.env };
  const { program, loaded, read, scripts } = loadProgram(path, kind);
  const needed: Needed[] = [];
  const keep = (name: PackName): void => {
    const known = new Set(needed.flatMap(([, chunks]) => chunks));
    const chunks = [...loaded.keys()].filter((chunk) => !known.has(chunk));
    needed.push([name, chunks, scripts.get(name)?.createCachedData()]);
  };
  const run: Run = (...words) => program.runCli(words, process);
  if (kind === "kanban") {
    await WARM_UP.kanban(run);
    keep("kanban");
    writeFileSync(join(home, "config.yaml"), "kanban: { failure_limit: 2 }\n");
  }
  Object.assign(process.env, { TERMINAL_ENV: "local" });
  Object.assign(process.env, { HERMES_MODEL_PROVIDER: "scripted", HERMES_MODEL_DEFAULT: model });
  if (kind === "chat") await warmUpChat(program, () => keep("chat"));
  await WARM_UP[kind === "chat" ? "task" : kind](run); // the turns of a chat need what those of a task need
  keep(kind === "kanban" ? "settings" : kind === "chat" ? "turn" : kind);
  rmSync(join(home, "config.yaml"), { force: true });
  for (const name of Object.keys(process.env)) if (!(name in given)) delete process.env[name];
  Object.assign(process.env, given);
  return { read, needed };
}
