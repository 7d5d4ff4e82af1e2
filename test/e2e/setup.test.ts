import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { startInTerminal, type TerminalSession } from "../support/pty.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const KEY = "sk-pasted-key-that-is-good";
const NOWHERE = "http://127.0.0.1:9/v1"; // refuses connections

/** Opens a home, a local server with two models, a provider that accepts one key, and a container engine that runs. */
async function openSetup(settings = "", vllm = NOWHERE) {
  const home = await tempHome();
  const answers = [{ text: "Hello from the model.", times: 99 }];
  const local = await startScriptedServer({ answers }, { models: ["tiny:1b", "large:70b"] });
  const hosted = await startScriptedServer(
    { answers },
    {
      misbehave: (_, { headers }) =>
        headers.authorization === `Bearer ${KEY}`
          ? undefined
          : { type: "answer", status: 401, body: '{"error":{"message":"bad key"}}' },
    },
  );
  await mkdir(home.path);
  const config = `# kept comment
${settings}providers:
  ollama: { base_url: "${local.url}/v1" } # kept too
  openai-api: { base_url: "${hosted.url}/v1" }
  lmstudio: { base_url: "${NOWHERE}" }
  vllm: { base_url: "${vllm}" }
  llama-cpp: { base_url: "${NOWHERE}" }
`;
  await writeFile(join(home.path, "config.yaml"), config);
  const bin = join(home.folder, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "docker"), "#!/bin/sh\nexit 0\n");
  await chmod(join(bin, "docker"), 0o755);
  const env = {
    PATH: `${bin}:${process.env["PATH"]}`,
    HOME: home.folder,
    HERMES_HOME: home.path,
    TERM: "xterm-256color",
  };
  return {
    config,
    local,
    hosted,
    start: (args: readonly string[], more: Record<string, string> = {}) =>
      startInTerminal(args, { env: { ...env, ...more }, cwd: home.folder }),
    read: (name: string) => readFile(join(home.path, name), "utf8").catch(() => undefined),
    /** Without the file that remembers which keys were refused, which is not configuration. */
    files: async () => (await readdir(home.path)).filter((name) => !name.startsWith("keys.sqlite")),
    hermes: home.hermes,
    async [Symbol.asyncDispose]() {
      await Promise.all([local[Symbol.asyncDispose](), hosted[Symbol.asyncDispose]()]);
      await home[Symbol.asyncDispose]();
    },
  };
}

type Step = readonly [question: string, answer: string];

async function answer(terminal: TerminalSession, steps: readonly Step[]): Promise<void> {
  for (const [question, typed] of steps) {
    await terminal.shows(question);
    terminal.type(typed);
  }
}

test("a local server that lists its models late is found", async () => {
  const slow = createServer((_, response) => {
    setTimeout(() => response.end(JSON.stringify({ data: [{ id: "late:7b" }] })), 2_000);
  });
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/v1`;
  try {
    await using setup = await openSetup("", url);
    using terminal = await setup.start(["setup"]);
    await terminal.shows("late:7b");
    terminal.type(CTRL_C);
    await terminal.exitCode();
  } finally {
    slow.close();
    slow.closeAllConnections();
  }
});

async function chatAnswers(terminal: TerminalSession): Promise<void> {
  await terminal.shows("/help");
  terminal.type("hi\r");
  await terminal.shows("Hello from the model.");
  terminal.type(`${CTRL_D}${CTRL_D}`);
  expect(await terminal.exitCode()).toBe(0);
}

test("without a model, `hermes` finds a local server, tests one of its models, and opens a chat that answers", async () => {
  await using lab = await openSetup();
  using terminal = await lab.start([]);
  await terminal.shows("Ollama at");
  await answer(terminal, [
    ["Number [1]: ", "1\r"],
    ["Model, by number or name", "large\r"],
    ["large:70b", ""],
    ["Model, by number or name [large:70b]: ", "\r"],
    ["Write this? [Y/n] ", "\r"],
  ]);
  await chatAnswers(terminal);
  expect(await lab.read("config.yaml")).toBe(
    `${lab.config}model:\n  provider: ollama\n  default: large:70b\n`,
  );
  expect(new Set(lab.local.requests.map(({ body }) => body["model"]))).toEqual(new Set(["large:70b"]));
});

test("setup stores a pasted key in .env only after it was tested, asks the rest, keeps comments, and ends in the chat", async () => {
  await using lab = await openSetup("model: { provider: ollama, default: 'tiny:1b' }\n");
  using terminal = await lab.start(["setup"]);
  await answer(terminal, [
    ["Keep tiny:1b (ollama)", "3\r"],
    ["another provider [1]: ", "2\r"],
    ["Key of openai-api (not shown): ", "sk-pasted-key-that-is-bad\r"],
    ["Model, by name [gpt-5]: ", "gpt-test\r"],
    ["gpt-test does not answer", ""],
    ["Number [1]: ", "3\r"],
    ["another provider [1]: ", "openai\r"],
    ["Key of openai-api (not shown): ", `${KEY}\r`],
    ["Model, by name [gpt-5]: ", "gpt-test\r"],
    ["openai-api accepts the key, and gpt-test answers.", ""],
    ["Where should commands run?", ""],
    ["Number [1]: ", "\r"],
    ["Who decides", ""],
    ["Number [1]: ", "7\r"],
    ["Give a number from 1 to 3.", "2\r"],
  ]);
  await terminal.shows("Write this? [Y/n] ");
  expect(await lab.read(".env")).toBeUndefined();
  terminal.type("y\r");
  await chatAnswers(terminal);
  expect(await lab.read(".env")).toBe(`OPENAI_API_KEY=${KEY}\n`);
  const stored = await lab.hermes(["config", "show", "--json"]);
  expect(stored.stdout).toContain("gpt-test");
  expect(await lab.read("config.yaml")).toMatch(/^# kept comment\n[\s\S]*# kept too\n[\s\S]*mode: manual\n$/);
  expect(terminal.screen()).not.toContain(KEY);
});

test("a key in the environment is offered, and only its provider is written", async () => {
  await using lab = await openSetup();
  using terminal = await lab.start(["setup", "--no-chat"], { OPENAI_API_KEY: KEY });
  await answer(terminal, [
    ["The key in OPENAI_API_KEY, from the environment (openai-api)", ""],
    ["Number [1]: ", "3\r"],
    ["Model, by name [gpt-5]: ", "\r"],
    ["Number [1]: ", "2\r"],
    ["Number [1]: ", "\r"],
    ["Write this? [Y/n] ", "\r"],
  ]);
  expect(await terminal.exitCode()).toBe(0);
  expect(await lab.read("config.yaml")).toBe(
    `${lab.config}model:\n  provider: openai-api\n  default: gpt-5\nterminal:\n  backend: docker\n`,
  );
  expect(await lab.read(".env")).toBeUndefined();
});

test("setup can be run again and changes nothing if nothing is to change", async () => {
  await using lab = await openSetup("model: { provider: ollama, default: 'tiny:1b' }\n");
  using terminal = await lab.start(["setup"]);
  await answer(terminal, [
    ["Number [1]: ", "\r"],
    ["Number [1]: ", "\r"],
    ["Number [1]: ", "\r"],
    ["Everything stays as it is.", ""],
  ]);
  await chatAnswers(terminal);
  expect(await lab.read("config.yaml")).toBe(lab.config);
});

const EVERY_QUESTION: readonly Step[] = [
  ["Number [1]: ", "3\r"],
  ["another provider [1]: ", "2\r"],
  ["(not shown): ", `${KEY}\r`],
  ["Model, by name [gpt-5]: ", "gpt-test\r"],
  ["Number [1]: ", "2\r"],
  ["Number [1]: ", "2\r"],
  ["Write this? [Y/n] ", "n\r"],
];

test.each(EVERY_QUESTION.map(([question], index) => [index + 1, question] as const))(
  "interrupted at question %i (%s) by Ctrl-C or a closed terminal, setup changes nothing",
  async (number, question) => {
    await using lab = await openSetup("model: { provider: ollama, default: 'tiny:1b' }\n");
    const before = await lab.files();
    const isUnchanged = async (): Promise<void> => {
      expect(await lab.read("config.yaml")).toBe(lab.config);
      expect(await lab.read(".env")).toBeUndefined();
      expect(await lab.files()).toEqual(before);
    };
    using interrupted = await lab.start(["setup"]);
    await answer(interrupted, EVERY_QUESTION.slice(0, number - 1));
    await interrupted.shows(question);
    interrupted.type(CTRL_C);
    expect(await interrupted.exitCode()).toBe(130);
    expect(interrupted.screen()).toContain("nothing was changed");
    await isUnchanged();
    using closed = await lab.start(["setup"]);
    await answer(closed, EVERY_QUESTION.slice(0, number - 1));
    await closed.shows(question);
    await closed.hangUp();
    await isUnchanged();
  },
);

test("a declined or closed last question changes nothing", async () => {
  await using lab = await openSetup();
  using terminal = await lab.start([]);
  await answer(terminal, [
    ["Number [1]: ", "1\r"],
    ["Model, by number or name [large:70b]: ", "1\r"],
    ["Write this? [Y/n] ", "perhaps\r"],
    ["Write this? [Y/n] ", "n\r"],
    ["Nothing was changed.", ""],
  ]);
  expect(await terminal.exitCode()).toBe(0);
  using closed = await lab.start([]);
  await closed.shows("Number [1]: ");
  closed.type(CTRL_D);
  expect(await closed.exitCode()).toBe(130);
  expect(await lab.read("config.yaml")).toBe(lab.config);
});

test("without a terminal, setup and a task name the ways to set a model, and exit with 78", async () => {
  await using lab = await openSetup();
  const setup = await lab.hermes(["setup"]);
  expect(setup).toMatchObject({ exitCode: 78, stdout: "", stderr: expect.stringMatching(/hermes auth add/) });
  await using empty = await tempHome();
  const task = await empty.hermes(["-z", "hi"]);
  expect(task).toMatchObject({
    exitCode: 78,
    stderr: expect.stringMatching(/`hermes setup`.*ANTHROPIC_API_KEY/),
  });
});
