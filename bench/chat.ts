import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import * as pty from "@lydell/node-pty";
import { createColors } from "picocolors";
import { createKeyBindings } from "../src/cli/chat/input/key-bindings.ts";
import { createPanel } from "../src/cli/chat/panel/panel.ts";
import { drawPanel } from "../src/cli/chat/window/draw-lists.ts";
import { neverAborted } from "../src/lib/time/never-aborted.ts";
import { fillSessions } from "../test/support/fill-sessions.ts";
import { type ScriptedServer, startScriptedServer } from "../test/support/scripted-server.ts";
import { type Bench, type Measurement, median, milliseconds } from "./bench.ts";
import { fetchPeer } from "./peer.ts";

const ENTRY = resolve("dist/main.cjs");
const PI = { name: "@earendil-works/pi-coding-agent", version: "0.74.2" };
const ROUNDS = 11;
const STREAM_LINES = 2_000;
const LONG_LINES = 20_000;
const TRANSCRIPT_LINES = 50_000;
const PRINTED_LINES = 100_000;
const FIRST_LINES = 1_000;
const TURNS = 5_000;
const MESSAGES = 10_000;
/** Longer than any successful wait. */
const SHOWN_WITHIN_MS = 60_000;
const IDLE_MS = 10_000;
const TICKS_PER_SECOND = 100; // of /proc/PID/stat
/** Letters that occur in no text of the benchmark, so that their echo can be found in the output. */
const LETTERS = [..."àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ"];

/** What a user notices of the chat, compared with bare Node, with plain writes of the same text, and with pi. */
export const chatBench: Bench = {
  name: "chat",
  async run() {
    const folder = await mkdtemp(join(tmpdir(), "hermes-bench-chat-"));
    const server = await startScriptedServer({
      turns: [
        { when: "stream", answers: [{ text: markdown(STREAM_LINES), chunk: 24 }] },
        { when: "endless", answers: [{ text: markdown(STREAM_LINES), chunk: 24, delay_ms: 3 }] },
        { when: "long text", answers: [{ text: markdown(LONG_LINES), chunk: 24 }] },
        { when: "first text", answers: [{ text: markdown(FIRST_LINES), chunk: 24 }] },
        { when: "transcript", answers: [{ text: markdown(TRANSCRIPT_LINES), chunk: 24 }] },
        { when: "print", answers: [{ tools: [PRINT] }, { text: "Printed." }] },
      ],
      answers: [{ text: "Understood.", times: 100 }],
    });
    // The benchmark takes minutes, so each row is reported as soon as it is measured.
    const results: Measurement[] = [];
    const add = (...measured: readonly Measurement[]): void => {
      for (const { name, ratio, ours, peer } of measured)
        process.stderr.write(`  ${name}: ${ours} ÷ ${peer} = ${ratio.toFixed(2)}\n`);
      results.push(...measured);
    };
    try {
      add(await measureFirstFrame("node dist/main.cjs", [process.execPath, ENTRY], 1.5, folder));
      add(await measureFirstFrame("./hermes", [resolve("hermes")], 2.5, folder));
      add(...(await measureStream(folder, server)));
      add(await measureLineCost(folder, server));
      add(...(await measureEcho(folder, server)));
      add(await measureResume(folder));
      add(measurePicker());
      add(...(await measureIdle(folder, server)));
      add(await measureLines(folder, server));
      add(await measureTurns(folder));
      return results;
    } finally {
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Prints until it is stopped, and at least the lines of the budget. */
const PRINT = {
  name: "terminal",
  input: { command: `seq 1 ${100 * PRINTED_LINES} | while read -r line; do echo "$line"; done` },
};

const LAST_LINE = "This is its end.";

function markdown(lines: number): string {
  const block = [
    "A paragraph with **bold words**, some `code` and a [link](https://example.com/path), long enough to be wrapped once.",
    "",
    "- an item of a list that says what it is about",
    "",
    "```ts",
    "const user = await findUser(id); // a comment",
    "if (user === undefined) throw new NotFound(id);",
    "```",
    "",
    "Another paragraph of ordinary text without any marks in it.",
  ];
  return [...Array.from({ length: lines - 1 }, (_, index) => block[index % block.length]), LAST_LINE].join(
    "\n",
  );
}

/** A program in its own terminal, with all bytes that it has written. */
interface Running extends Disposable {
  readonly pid: number;
  bytes(): string;
  type(text: string): void;
  /** Resolves when the output after `from` has the text, with the time since the call. */
  shows(text: string | RegExp, from?: number): Promise<number>;
  cpuMs(): number;
  memoryMb(): number;
}

function start(command: readonly string[], env: Readonly<Record<string, string>>, cwd: string): Running {
  const [program = "", ...args] = command;
  const options = { cols: 80, rows: 24, cwd, env: { ...env } };
  const child = pty.spawn(program, [...args], options);
  let bytes = "";
  let check: (text: string) => void = () => undefined;
  child.onData((text) => {
    bytes += text;
    check(text);
  });
  return {
    pid: child.pid,
    bytes: () => bytes,
    type: (text) => child.write(text),
    shows(text, from = bytes.length) {
      const started = performance.now();
      return new Promise((done, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`never showed ${text}: ${bytes.slice(-800)}`)),
          SHOWN_WITHIN_MS,
        );
        // Searching all output again for each new piece would take longer than what is measured.
        let part = from === bytes.length ? "" : bytes.slice(from);
        check = (piece) => {
          part += piece;
          if (typeof text === "string" ? part.includes(text) : text.test(part)) {
            clearTimeout(timer);
            check = () => undefined;
            done(performance.now() - started);
          } else if (typeof text === "string") part = part.slice(-text.length);
        };
        check("");
      });
    },
    cpuMs: () => cpuOf(child.pid),
    memoryMb: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1_024,
    [Symbol.dispose]() {
      child.kill("SIGKILL");
    },
  };
}

function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1_000;
}

async function makeHome(folder: string, server?: ScriptedServer): Promise<Record<string, string>> {
  const home = await mkdtemp(join(folder, "home-"));
  const script = join(home, "script.json");
  await writeFile(script, JSON.stringify({ answers: [{ text: "Understood.", times: TURNS * 2 }] }));
  const model =
    server === undefined
      ? { HERMES_MODEL_PROVIDER: "scripted", HERMES_MODEL_DEFAULT: script }
      : {
          HERMES_MODEL_PROVIDER: "custom",
          HERMES_MODEL_DEFAULT: "bench",
          HERMES_MODEL_BASE_URL: `${server.url}/v1`,
          HERMES_MODEL_CONTEXT_LENGTH: "100000000",
        };
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    HERMES_HOME: home,
    HERMES_APPROVALS_MODE: "off",
    TERM: "xterm-256color",
    ...model,
  };
}

async function startChat(folder: string, server?: ScriptedServer): Promise<Running> {
  const env = await makeHome(folder, server);
  const chat = start([process.execPath, ENTRY], env, env["HOME"] ?? folder);
  await chat.shows(/\/help[\s\S]*·/, 0);
  return chat;
}

/** It does not exit, because node-pty loses what a program has written just before its end. */
const BARE = [process.execPath, "-e", 'process.stdout.write("❯"); setTimeout(() => undefined, 600_000)'];

async function measureFirstFrame(
  name: string,
  command: readonly string[],
  max: number,
  folder: string,
): Promise<Measurement> {
  const env = await makeHome(folder);
  const firstByte = async (words: readonly string[], text: string): Promise<number> => {
    using program = start(words, env, env["HOME"] ?? folder);
    return await program.shows(text, 0);
  };
  const times = { ours: [] as number[], peer: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    times.ours.push(await firstByte(command, "❯"));
    times.peer.push(await firstByte(BARE, "❯"));
  }
  return ratio(`first frame, ${name} ÷ bare node`, median(times.ours), median(times.peer), max);
}

const PLAIN = `
process.stdout.write("ready");
process.stdin.once("data", async () => {
  const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "stream" }] });
  const response = await fetch(process.argv[1] + "/v1/chat/completions",
    { method: "POST", headers: { "content-type": "application/json" }, body });
  let rest = "";
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + part).split("\\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      process.stdout.write(JSON.parse(line.slice(6)).choices[0]?.delta?.content ?? "");
    }
  }
  process.stdout.write("THE END");
  setTimeout(() => undefined, 600_000);
});
`;

async function startPi(folder: string, server: ScriptedServer): Promise<Running> {
  const modules = await fetchPeer(PI.name, PI.version);
  const home = await mkdtemp(join(folder, "pi-"));
  const agent = join(home, ".pi", "agent");
  await mkdir(agent, { recursive: true });
  const provider = {
    baseUrl: `${server.url}/v1`,
    api: "openai-completions",
    apiKey: "none",
    models: [{ id: "bench", contextWindow: 100_000_000, maxTokens: 8_000 }],
  };
  await writeFile(join(agent, "models.json"), JSON.stringify({ providers: { bench: provider } }));
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    TERM: "xterm-256color",
    PI_OFFLINE: "1",
    PI_SKIP_VERSION_CHECK: "1",
  };
  const entry = join(modules, PI.name, "dist/cli.js");
  const words = [process.execPath, entry, "--provider", "bench", "--model", "bench"];
  const pi = start(words, env, home);
  await pi.shows("bench", 0);
  return pi;
}

/** CPU and bytes of one streamed answer, from the sent message to its last line. */
async function streamed(program: Running, message: string, end: string) {
  await settle(program);
  const before = { cpu: program.cpuMs(), bytes: program.bytes().length };
  program.type(message);
  await settle(program, end);
  return {
    cpu: program.cpuMs() - before.cpu,
    bytes: Buffer.byteLength(program.bytes().slice(before.bytes)),
  };
}

/** Waits until a program has shown a text and then written nothing for a second. */
async function settle(program: Running, text?: string): Promise<void> {
  if (text !== undefined) await program.shows(text);
  for (let length = -1; length !== program.bytes().length; ) {
    length = program.bytes().length;
    await new Promise((done) => setTimeout(done, 1_000));
  }
}

async function measureStream(folder: string, server: ScriptedServer): Promise<Measurement[]> {
  const found = { ours: [] as number[], plain: [] as number[], pi: [] as number[] };
  let ourBytes = 0;
  for (let round = 0; round < 3; round++) {
    using chat = await startChat(folder, server);
    const ours = await streamed(chat, "stream\r", LAST_LINE);
    found.ours.push(ours.cpu);
    ourBytes = ours.bytes;
    using plain = start([process.execPath, "-e", PLAIN, server.url], await makeHome(folder), folder);
    await plain.shows("ready", 0);
    found.plain.push((await streamed(plain, "go\n", "THE END")).cpu);
    using pi = await startPi(folder, server);
    found.pi.push((await streamed(pi, "stream\r", LAST_LINE)).cpu);
  }
  const best = { ours: Math.min(...found.ours), plain: Math.min(...found.plain), pi: Math.min(...found.pi) };
  const textBytes = Buffer.byteLength(markdown(STREAM_LINES));
  return [
    ratio("CPU to stream 2,000 lines ÷ plain writes of them", best.ours, best.plain, 5),
    ratio(`CPU to stream 2,000 lines ÷ pi ${PI.version}`, best.ours, best.pi, 1),
    {
      name: "bytes to stream 2,000 lines ÷ the text",
      ours: `${ourBytes}`,
      peer: `${textBytes}`,
      ratio: ourBytes / textBytes,
      budget: { max: 1.6 },
    },
  ];
}

async function measureLineCost(folder: string, server: ScriptedServer): Promise<Measurement> {
  using chat = await startChat(folder, server);
  const short = await streamed(chat, "stream\r", LAST_LINE);
  const long = await streamed(chat, "long text\r", LAST_LINE);
  const perLine = { ours: long.cpu / LONG_LINES, peer: short.cpu / STREAM_LINES };
  return ratio("CPU per line of 20,000 ÷ of 2,000", perLine.ours, perLine.peer, 1.2);
}

/** How long each of the letters takes to appear after it was typed. */
async function echoes(chat: Running, isOver: () => boolean = () => false): Promise<number[]> {
  const times: number[] = [];
  for (const letter of LETTERS) {
    if (isOver()) break;
    const shown = chat.shows(letter);
    chat.type(letter);
    times.push(await shown);
    await new Promise((done) => setTimeout(done, 40));
  }
  chat.type("\u0015");
  return times;
}

async function measureEcho(folder: string, server: ScriptedServer): Promise<Measurement[]> {
  using chat = await startChat(folder, server);
  await settle(chat);
  const idle = await echoes(chat);
  await settle(chat);
  const under = async (message: string): Promise<number[]> => {
    const from = chat.bytes().length;
    chat.type(message);
    await chat.shows(/⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏/, from);
    const times = await echoes(chat);
    chat.type("\u001b");
    await settle(chat, "Stopped.");
    return times;
  };
  const streaming = await under("endless\r");
  const printing = await under("print\r");
  chat.type("transcript\r");
  await settle(chat, LAST_LINE);
  const later = await echoes(chat);
  return [
    ratio("key → echo while text streams ÷ idle, median", median(streaming), median(idle), 3),
    ratio("key → echo while text streams ÷ idle, p95", p95(streaming), p95(idle), 10),
    ratio("key → echo while a command prints ÷ idle, median", median(printing), median(idle), 3),
    ratio("key → echo while a command prints ÷ idle, p95", p95(printing), p95(idle), 10),
    ratio("key → echo after 50,000 lines ÷ at the start, median", median(later), median(idle), 1.2),
  ];
}

function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN;
}

/** Memory after many lines of one chat. All of them are text of the session, which every request carries. */
async function measureLines(folder: string, server: ScriptedServer): Promise<Measurement> {
  using chat = await startChat(folder, server);
  await streamed(chat, "first text\r", LAST_LINE);
  const early = chat.memoryMb();
  for (let lines = 0; lines < PRINTED_LINES; lines += TRANSCRIPT_LINES)
    await streamed(chat, "transcript\r", LAST_LINE);
  return memoryRatio(`after ${PRINTED_LINES} lines ÷ after ${FIRST_LINES}`, chat.memoryMb(), early, 1.2);
}

/** Memory after many turns of one session, most of which is the session itself. */
async function measureTurns(folder: string): Promise<Measurement> {
  using chat = await startChat(folder);
  const first = TURNS / 10;
  const run = async (count: number): Promise<number> => {
    for (let turn = 0; turn < count; turn++) {
      const from = chat.bytes().length;
      chat.type("hi\r");
      await chat.shows("Understood.", from);
    }
    await settle(chat);
    return chat.memoryMb();
  };
  const early = await run(first);
  const late = await run(TURNS - first);
  return memoryRatio(`after ${TURNS} turns ÷ after ${first}`, late, early, 1.5);
}

function memoryRatio(name: string, late: number, early: number, max: number): Measurement {
  return {
    name: `memory ${name}`,
    ours: `${late.toFixed(0)} MB`,
    peer: `${early.toFixed(0)} MB`,
    ratio: late / early,
    budget: { max },
  };
}

async function measureResume(folder: string): Promise<Measurement> {
  const env = await makeHome(folder);
  await fillSessions(join(env["HOME"] ?? "", "sessions.sqlite"), MESSAGES, neverAborted, {
    perSession: MESSAGES,
  });
  const open = async (args: readonly string[]): Promise<number> => {
    using chat = start([process.execPath, ENTRY, ...args], env, env["HOME"] ?? folder);
    return await chat.shows("❯", 0);
  };
  const times = { ours: [] as number[], peer: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    times.ours.push(await open(["-c"]));
    times.peer.push(await open([]));
  }
  return ratio(
    "first prompt of -c with 10,000 messages ÷ a new session",
    median(times.ours),
    median(times.peer),
    1.2,
  );
}

function measurePicker(): Measurement {
  const colours = createColors(true);
  const keys = createKeyBindings();
  const open = (count: number) => {
    const rows = Array.from({ length: count }, (_, at) => ({
      value: at,
      search: `${at}`,
      text: () => `row ${at}`,
    }));
    return createPanel({ title: "sessions", rows, footer: () => "", onChoose: () => undefined });
  };
  const [many, few] = [open(5_000), open(50)];
  const paint = (panel: typeof many): number => {
    const started = performance.now();
    for (let count = 0; count < 1_000; count++) drawPanel(panel.view(), keys, 18, 79, colours);
    return performance.now() - started;
  };
  paint(few);
  return ratio("painting a picker of 5,000 rows ÷ of 50, 1,000 times", paint(many), paint(few), 3);
}

async function measureIdle(folder: string, server: ScriptedServer): Promise<Measurement[]> {
  using chat = await startChat(folder, server);
  const startCpu = chat.cpuMs();
  await new Promise((done) => setTimeout(done, IDLE_MS)); // the shell is started in the background
  const before = { cpu: chat.cpuMs(), bytes: chat.bytes().length };
  await new Promise((done) => setTimeout(done, IDLE_MS));
  const bytes = chat.bytes().length - before.bytes;
  return [
    { name: "bytes while idle for 10 s", ours: `${bytes}`, peer: "0", ratio: bytes, budget: { max: 0 } },
    ratio("CPU while idle for 10 s ÷ until the first prompt", chat.cpuMs() - before.cpu, startCpu, 0.1),
  ];
}

function ratio(name: string, ours: number, peer: number, max: number): Measurement {
  return { name, ours: milliseconds(ours), peer: milliseconds(peer), ratio: ours / peer, budget: { max } };
}
