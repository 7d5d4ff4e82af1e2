import { execFile } from "node:child_process";
import { access, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ScriptInput } from "../../src/providers/scripted/script.ts";
import { ENTRY } from "../support/built-program.ts";
import { tempHome } from "../support/hermes.ts";
import { spawnInPty } from "../support/pty.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

async function openLab(script: ScriptInput) {
  const home = await tempHome();
  const server = await startScriptedServer(script);
  const env = {
    HERMES_MODEL_PROVIDER: "custom",
    HERMES_MODEL_BASE_URL: `${server.url}/v1`,
    HERMES_MODEL_DEFAULT: "m",
    OPENAI_API_KEY: "sk-test-never-shown",
    HERMES_AGENT_API_MAX_RETRIES: "0",
  };
  return {
    home,
    server,
    env,
    file: (name: string) => join(home.folder, name),
    run: (...words: string[]) => home.hermes(words, { env, cwd: home.folder }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const SCHEMA = {
  type: "object",
  properties: { files: { type: "integer", minimum: 0 } },
  required: ["files"],
  additionalProperties: false,
};
const usage = { input: 10, output: 2 };

test("--output-schema asks again with the reason, and prints only the matching JSON", async () => {
  await using lab = await openLab({
    answers: [
      { text: "There are three.", usage },
      { text: '{"files":-1}', usage },
      { text: '```json\n{"files": 3}\n```', usage },
    ],
  });
  await writeFile(lab.file("schema.json"), `\uFEFF${JSON.stringify(SCHEMA)}`);
  const files = ["-o", "last.txt", "--usage-file", "usage.json"];
  const run = await lab.run("-z", "How many?", "--output-schema", "schema.json", ...files);
  expect(run).toMatchObject({ exitCode: 0, stdout: '{"files": 3}\n', stderr: "" });
  const used = JSON.parse(await readFile(lab.file("usage.json"), "utf8"));
  expect(used).toMatchObject({ requests: 3, input_tokens: 30, output_tokens: 6 }); // all attempts count
  expect(await readFile(lab.file("last.txt"), "utf8")).toBe('{"files": 3}\n');
  const said = lab.server.requests.map(({ body }) => JSON.stringify(body.messages.at(-1)));
  expect(said[0]).toContain("JSON Schema");
  expect(said[1]).toContain("it is not JSON");
  expect(said[2]).toContain("/files must be >= 0");
  const listed = await lab.run("sessions", "list", "--all", "--json");
  expect(JSON.parse(listed.stdout)).toMatchObject([{ opening: "How many?" }]);
});

test("an answer that never matches the schema ends with 6, and a limit also applies to the attempts", async () => {
  await using lab = await openLab({ answers: [{ text: "no", usage, times: 9 }] });
  await writeFile(lab.file("schema.json"), JSON.stringify(SCHEMA));
  const run = await lab.run("-z", "How many?", "--output-schema", "schema.json");
  expect(run).toMatchObject({
    exitCode: 6,
    stdout: "",
    stderr: expect.stringContaining("does not match the output schema: it is not JSON"),
  });
  expect(lab.server.requests).toHaveLength(3);
  const limited = await lab.run("-z", "How many?", "--output-schema", "schema.json", "--max-turns", "1");
  expect(limited).toMatchObject({ exitCode: 3, stderr: expect.stringContaining("A limit was reached") });
  expect(lab.server.requests).toHaveLength(4);
  const missing = await lab.run("-z", "How many?", "--output-schema", "nowhere.json");
  expect(missing).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("nowhere.json cannot be used"),
  });
});

test("--output-format json prints one object with the answer and its cost; events is the same as --json", async () => {
  await using lab = await openLab({ answers: [{ text: '{"files":1}', usage, times: 3 }] });
  await writeFile(lab.file("schema.json"), JSON.stringify(SCHEMA));
  const json = await lab.run("-z", "go", "--output-format", "json", "--output-schema", "schema.json");
  expect(json.json()).toEqual({
    session_id: expect.any(String),
    provider: "custom",
    model: "m",
    outcome: "completed",
    text: '{"files":1}',
    result: { files: 1 },
    reason: null,
    hint: null,
    duration_ms: expect.any(Number),
    requests: 1,
    input_tokens: 10,
    cache_read_tokens: expect.anything(),
    cache_write_tokens: null,
    output_tokens: 2,
    reasoning_tokens: 0,
    cost_usd: null,
  });
  const events = await lab.run("-z", "go", "--output-format", "events", "--output-schema", "schema.json");
  const lines = events.stdout.trim().split("\n");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ type: "session" });
  expect(JSON.parse(lines.at(-1) ?? "")).toEqual({ type: "result", value: { files: 1 } });
});

test("the numbers of an answer with a schema are printed as the model wrote them, in every format", async () => {
  const text = '{\n  "n": 12345678901234567890,\n  "a b": "1  2"\n}';
  // Neither an unreadable number nor JSON in the reasoning counts as the answer.
  await using lab = await openLab({
    answers: [
      { text: '{"n":1e400}', usage },
      { reasoning: '{"n":1}', usage },
      { text, usage },
    ],
  });
  await writeFile(lab.file("schema.json"), JSON.stringify({ properties: { n: { type: "number" } } }));
  const ask = (...words: string[]) => lab.run("-z", "go", "--output-schema", "schema.json", ...words);
  expect(await ask("-o", "last.txt")).toMatchObject({ exitCode: 0, stdout: `${text}\n`, stderr: "" });
  expect(await readFile(lab.file("last.txt"), "utf8")).toBe(`${text}\n`);
  const summary = await ask("--output-format", "json");
  expect(summary.json()).toMatchObject({ text, result: { "a b": "1  2" } });
  expect(summary.stdout).toContain(`"result": ${text}`);
  const events = await ask("--json");
  const line = '{"type":"result","value":{"n":12345678901234567890,"a b":"1  2"}}';
  expect(events.stdout.trimEnd().split("\n").at(-1)).toBe(line);
  expect(lab.server.requests).toHaveLength(9);
});

test("a usage error is JSON if JSON was requested; an option or a command where a task belongs is not sent to a model", async () => {
  await using lab = await openLab({ answers: [{ text: "help", usage }] });
  for (const words of [["--output-format", "json"], ["--output-format=events"], ["--json"]]) {
    const { stderr } = await lab.run("-z", "go", "--toolsets", "fle", ...words);
    expect(JSON.parse(stderr)).toMatchObject({ error: { message: "There is no toolset fle." } });
  }
  const help = await lab.run("-z", "--help");
  expect(help).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("hermes chat --help") });
  for (const option of ["--plan", "-c", "--max-cost=1"]) {
    const { exitCode, stderr } = await lab.run("-z", option, "go");
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`${option} is an option, not a task.`);
    expect(stderr).toContain('hermes -z "TASK" ');
  }
  const late = await lab.run("-m", "x", "model");
  expect(late).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("`hermes model --help`") });
  expect(lab.server.requests).toEqual([]);
});

test("an unattended run in a loop is ended with an error; an attended one is not", async () => {
  const loop = { tools: [{ name: "read_file", input: { path: "nowhere.txt" } }], usage, times: 12 };
  await using lab = await openLab({ answers: [loop, { text: "I give up", usage }] });
  const alone = await lab.run("-z", "go");
  expect(alone).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("is stuck in a loop") });
  expect(lab.server.requests.length).toBeLessThan(12);
  expect(await lab.run("chat", "-q", "go")).toMatchObject({ exitCode: 0, stdout: "I give up\n" });
});

test("the flags for images, provider, reasoning, instructions and tools reach the model", async () => {
  await using lab = await openLab({ answers: [{ text: "seen", usage, times: 2 }] });
  const jpeg = Buffer.from("ffd8ffe000104a464946", "hex");
  await writeFile(lab.file("page.png"), jpeg);
  await writeFile(lab.file("words.png"), "not really a picture");
  await writeFile(lab.file("empty.png"), "");
  await writeFile(lab.file("huge.png"), Buffer.alloc(5 * 1024 * 1024 + 1));
  await mkdir(lab.home.path, { recursive: true });
  const other = `providers: { other: { base_url: "${lab.server.url}/v1", model: n, key_env: OPENAI_API_KEY } }\n`;
  await writeFile(join(lab.home.path, "config.yaml"), other);
  const flags = [
    "--image",
    "page.png",
    "--provider",
    "other",
    "--reasoning",
    "HIGH",
    "--toolsets",
    "file,todo",
  ];
  const run = await lab.run("-z", "look", ...flags, "--append-system-prompt", "Be brief.");
  expect(run).toMatchObject({ exitCode: 0, stdout: "seen\n", stderr: "" });
  const { body } = lab.server.requests[0] ?? { body: { messages: [] } };
  expect(body).toMatchObject({ model: "n", reasoning_effort: "high" });
  expect(JSON.stringify(body.messages[0])).toContain("Be brief.");
  expect(JSON.stringify(body.messages[1])).toContain("data:image/jpeg;base64,"); // detected by its content
  const tools = (body as { tools?: { function: { name: string } }[] }).tools ?? [];
  expect(tools.map((tool) => tool.function.name)).toEqual(expect.arrayContaining(["read_file", "todo"]));
  expect(tools.map((tool) => tool.function.name)).not.toContain("terminal");
  for (const [words, complaint] of [
    [["--image", "nowhere.png"], "nowhere.png cannot be sent as an image: there is no such file"],
    [["--image", "words.png"], "its content is not PNG, JPEG, GIF or WebP"],
    [["--image", "empty.png"], "it is empty"],
    [["--image", "huge.png"], "it is 5.1 MB; the limit is 5 MB"],
    [["--image", "."], "it is not a file"],
    [["--reasoning", "banana"], "none, minimal, low, medium, high, xhigh, max or ultra"],
    [["--agent.reasoning-effort=8000"], "none, minimal, low, medium, high, xhigh, max or ultra"],
    [["--toolsets", "fle"], "no toolset fle"],
    [["-c", "--toolsets", "file"], "keeps its system prompt and tools"],
    [["-c", "--no-session"], "cannot resume a session"],
    [["--json", "--output-format", "text"], "--json means --output-format events, not text"],
    [["--json", "--output-format", "json"], "--json means --output-format events, not json"],
  ] as const)
    expect((await lab.run("-z", "x", ...words)).stderr).toContain(complaint);
  expect(lab.server.requests).toHaveLength(1);
});

test("--no-session leaves no session behind, the footer says so and shows the cost, and a daily cost cap refuses it", async () => {
  await using lab = await openLab({ answers: [{ text: "done", usage, times: 4 }] });
  await mkdir(lab.home.path, { recursive: true });
  const price = { input: 100, output: 1_000 };
  const paid = { base_url: `${lab.server.url}/v1`, model: "n", models: { n: { price } } };
  await writeFile(join(lab.home.path, "config.yaml"), JSON.stringify({ providers: { paid } }));
  const leftBehind = lab.file("hermes-session-4194304-x"); // larger than any pid
  await mkdir(leftBehind);
  const env = { ...lab.env, TMPDIR: lab.home.folder };
  const run = await lab.home.hermes(["-z", "go", "--no-session"], { env, cwd: lab.home.folder });
  expect(run).toMatchObject({ exitCode: 0, stdout: "done\n" });
  await expect(access(leftBehind)).rejects.toThrow();
  await expect(access(join(lab.home.path, "sessions.sqlite"))).rejects.toThrow();
  // A temporary store has no other sessions to search.
  expect(JSON.stringify(lab.server.requests[0]?.body["tools"])).not.toContain("session_search");
  const summary = await lab.run("-z", "go", "--no-session", "--output-format", "json");
  expect(summary.json()).toMatchObject({ text: "done", session_id: null });
  const events = await lab.run("-z", "go", "--no-session", "--json");
  expect(JSON.parse(events.stdout.split("\n")[0] ?? "")).not.toHaveProperty("sessionId");
  const watched = await lab.run("chat", "-q", "go", "--no-session", "--provider", "paid");
  expect(watched.stderr).toMatch(/^not saved · \d+ s · 10 tokens in, 2 out · \$0\.0030$/m);
  const capped = await lab.run("-z", "go", "--no-session", "--agent.max_daily_cost_usd=1");
  expect(capped).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("agent.max_daily_cost_usd") });
});

test("the log records a run with its usage, without any message text; list reports hidden sessions", async () => {
  await using lab = await openLab({
    answers: [
      { tools: [{ name: "terminal", input: { command: "echo private words" } }], usage },
      { text: "private answer", usage },
    ],
  });
  const { exitCode } = await lab.run("-z", "private task");
  expect(exitCode).toBe(0);
  const folder = join(lab.home.path, "logs");
  const texts = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")),
  );
  const log = texts.join("");
  for (const words of [
    "turn started",
    "model answered",
    '"finish":"stop"',
    "tool ended",
    '"tool":"terminal"',
    "turn ended",
    '"outcome":"completed"',
    '"session":"',
  ])
    expect(log).toContain(words);
  expect(log).not.toMatch(/private|sk-test/);

  const listed = await lab.run("sessions", "list");
  expect(listed.stdout + listed.stderr).toContain("--all");
  expect((await lab.run("sessions", "list", "--all")).stderr).toBe("");
});

test("chat -q shows that it waits for the model, and ends with session, time, tokens and cost", async () => {
  await using home = await tempHome();
  const script = join(home.folder, "script.json");
  await writeFile(script, JSON.stringify({ answers: [{ text: "the answer", usage, delay_ms: 1_300 }] }));
  const words = ["chat", "-q", "go", "-m", `scripted:${script}`];
  const terminal = spawnInPty([process.execPath, ENTRY, ...words], {
    env: { PATH: process.env["PATH"] ?? "", HOME: home.folder, HERMES_HOME: home.path },
    cwd: home.folder,
    cols: 120,
  });
  let shown = "";
  terminal.onData((text) => {
    shown += text;
  });
  await expect
    .poll(() => shown)
    .toMatch(/session \d{8}_\d{6}_\w+ · \d+ s · 10 tokens in, 2 out · cost unknown/);
  terminal.kill();
  expect(shown).toContain("… waiting for the model, 1 s");
  expect(shown.slice(shown.indexOf("waiting for the model"))).toContain("the answer");
});

test("if standard output is closed, a notice says where to find the answer; with /dev/null there is no notice", async () => {
  await using lab = await openLab({ answers: [{ text: "done", usage, times: 2 }] });
  const env = { ...lab.env, PATH: process.env["PATH"], HOME: lab.home.folder, HERMES_HOME: lab.home.path };
  const shell = (line: string) =>
    new Promise<string>((resolve) => {
      execFile("sh", ["-c", line, process.execPath, ENTRY], { env }, (_, __, stderr) => resolve(stderr));
    });
  const stderr = await shell('"$0" "$1" -z go </dev/null >&-');
  expect(stderr).toMatch(
    /standard output is closed, so the answer can only be read with `hermes sessions show \S+`\./,
  );
  expect(await shell('"$0" "$1" -z go </dev/null >/dev/null')).toBe("");
});

test("a cost cap is refused for a billed model without a known price", async () => {
  await using home = await tempHome();
  await mkdir(home.path, { recursive: true });
  const billed =
    "providers: { paid: { base_url: 'https://models.example/v1', key_env: OPENAI_API_KEY, model: m } }\n";
  await writeFile(join(home.path, "config.yaml"), billed);
  const env = { OPENAI_API_KEY: "sk-test-never-shown", HTTPS_PROXY: "http://127.0.0.1:9" };
  for (const cap of ["--max-cost=1", "--agent.max_session_cost_usd=1", "--agent.max_daily_cost_usd=1"]) {
    const run = await home.hermes(["-z", "go", "--provider", "paid", cap], { env });
    expect(run).toMatchObject({
      exitCode: 78,
      stdout: "",
      stderr: expect.stringContaining("The price of the model is not known"),
    });
  }
});

test("the usage file reports that the answer never matched the schema", async () => {
  await using lab = await openLab({ answers: [{ text: "three", usage, times: 3 }] });
  await writeFile(lab.file("schema.json"), JSON.stringify(SCHEMA));
  const run = await lab.run(
    "-z",
    "How many?",
    "--output-schema",
    "schema.json",
    "--usage-file",
    "usage.json",
  );
  expect(run.exitCode).toBe(6);
  expect(JSON.parse(await readFile(lab.file("usage.json"), "utf8"))).toMatchObject({ outcome: "unfit" });
});

test("agent K6: the file with the full output of a command has no secrets, and is removed with a --no-session run", async () => {
  const command = "seq 1 20000; echo DB_PASSWORD=hunter2hunter2; seq 1 20000";
  const answers = [
    { tools: [{ name: "terminal", input: { command } }], usage },
    { text: "done", usage },
    { tools: [{ name: "terminal", input: { command } }], usage },
    { text: "done", usage },
  ];
  await using lab = await openLab({ answers });
  const resultOf = (request: number): string =>
    JSON.stringify(lab.server.requests[request]?.body.messages.at(-1)?.content);
  const pathIn = (text: string): string => /full_output_path: (.+?)\\n/.exec(text)?.[1] ?? "";
  expect((await lab.run("-z", "go")).exitCode).toBe(0);
  const kept = await readFile(pathIn(resultOf(1)), "utf8");
  expect(kept).toContain("\nDB_PASSWORD=«redacted:secret-value»\n1\n2\n");
  expect(kept).toContain("\n20000\n");
  expect(kept).not.toContain("hunter2");
  expect((await lab.run("-z", "go", "--no-session")).exitCode).toBe(0);
  const gone = pathIn(resultOf(3));
  expect(gone).not.toBe("");
  await expect(access(gone)).rejects.toThrow();
  expect(await readdir(join(lab.home.path, "cache", "terminal-output"))).toHaveLength(1);
});

test("calls and results reach a piped standard error without escape sequences", async () => {
  const input = { command: "printf 'mark \\033[2J\\033]52;c;ZXZpbA==\\007\\n' \u001b[31m" };
  await using lab = await openLab({ answers: [{ tools: [{ name: "terminal", input }] }, { text: "done" }] });
  const { stderr } = await lab.run("chat", "-q", "go");
  expect(stderr).toContain("mark");
  for (const control of ["\u001b", "\u0007"]) expect(stderr).not.toContain(control);
});
